// SPDX-License-Identifier: Apache-2.0
// Which axes of a sample are convolved, for operators that take any layout: frames and channels in
// front, then up to three data axes, then channels; without a layout all axes are data.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/argument.h"
#include "core/known_layout.h"
#include "core/operator.h"
#include "kernels/filter/convolve.h"

namespace torchdali {

// A sample as [outer, data axes, channels].
struct ConvolutionAxes {
  int ndim = 0;   // data axes
  int first = 0;  // of them
  int64_t outer = 1, channels = 1;
  std::array<int64_t, 3> extents = {1, 1, 1};  // of the data axes, at the end

  ConvolutionAxes(const Shape& shape, const Layout& layout) {
    const auto is_data = [&](int i) {
      return layout.empty() || (layout[i] != 'F' && layout[i] != 'C');
    };
    int end = shape.ndim();
    while (first < end && !is_data(first)) ++first;
    if (end > first && !layout.empty() && layout[end - 1] == 'C') --end;
    ndim = end - first;
    bool dense = ndim >= 1 && ndim <= 3;
    for (int i = first; i < end; ++i) dense = dense && is_data(i);
    TORCHDALI_CHECK_KIND(kLayout, dense, "the input has layout ", layout, " and ", shape.ndim(),
                         " dimensions, expected one to three data axes next to each other, such "
                         "as \"HWC\", \"FCHW\" or \"DHWC\"");
    for (int i = 0; i < first; ++i) outer *= shape[i];
    size_t slot = 3 - static_cast<size_t>(end - first);
    for (int i = first; i < end; ++i) extents[slot++] = shape[i];
    if (end < shape.ndim()) channels = shape[end];
  }
};

// Reads one value for all data axes, or one per axis, to values[0 .. ndim).
template <class T>
void read_per_axis(const SampleContext& ctx, const ListArg<T>& arg, const char* name, int ndim,
                   std::array<T, 3>& values) {
  thread_local std::vector<T> buffer;
  const auto given = arg(ctx, buffer);
  TORCHDALI_CHECK(given.size() == 1 || given.size() == static_cast<size_t>(ndim), "`", name,
                  "` has ", given.size(), " values, expected 1 or ", ndim,
                  ", one for each data axis");
  for (size_t i = 0; i < static_cast<size_t>(ndim); ++i)
    values[i] = given[given.size() > 1 ? i : 0];
}

// The type of the result: `dtype`, or that of the input if it is kNone.
inline DType convolution_dtype(DType in, DType dtype) {
  TORCHDALI_CHECK_KIND(kType, in != DType::kBool, "the input has type bool, expected numbers");
  TORCHDALI_CHECK_KIND(kType, dtype == DType::kNone || dtype == in || dtype == DType::kFloat,
                       "`dtype` is ", dtype_name(dtype), ", expected float32 or ", dtype_name(in),
                       ", the input's type", to_fix("use fn.cast"));
  return dtype == DType::kNone ? in : dtype;
}

// Convolves `in` to `out`, of the same shape.
inline void run_convolution(SampleContext& ctx, const ConvolutionAxes& axes,
                            std::span<const kernels::SeparableFilter> filters, const SampleView& in,
                            const SampleView& out) {
  if (out.volume() == 0) return;
  const kernels::ConvolveJob job = {.in_type = in.dtype,
                                    .out_type = out.dtype,
                                    .extents = axes.extents,
                                    .channels = axes.channels,
                                    .filters = filters};
  float* scratch = ctx.scratch<float>(kernels::convolve_scratch(job)).data();
  const int64_t in_bytes = in.size_bytes() / axes.outer, out_bytes = out.size_bytes() / axes.outer;
  for (int64_t o = 0; o < axes.outer; ++o)
    kernels::convolve(job, in.as<const char>() + o * in_bytes, out.as<char>() + o * out_bytes,
                      scratch);
}

}  // namespace torchdali
