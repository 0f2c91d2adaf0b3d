// SPDX-License-Identifier: Apache-2.0
#include "ops/window/window_copy.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/convert.h"
#include "kernels/window/fill.h"
#include "ops/window/window_task.h"

namespace torchdali {
namespace {

// Makes the output a view of the input if the window is contiguous in it.
bool share(SampleContext& ctx, const SampleView& in, const Window& window, const Layout& layout) {
  int axis = 0;  // the first that is more than one element long
  while (axis < in.shape.ndim() && window.shape[axis] <= 1) ++axis;
  for (int i = axis + 1; i < in.shape.ndim(); ++i)
    if (window.shape[i] != in.shape[i]) return false;
  int64_t offset = 0;
  for (int i = 0; i < in.shape.ndim(); ++i) offset = offset * in.shape[i] + window.anchor[i];
  SampleView view{.data = in.as<char>() + offset * itemsize(in.dtype),
                  .dtype = in.dtype,
                  .shape = window.shape,
                  .layout = layout};
  ctx.share_input(0, 0, view);
  return true;
}

// To binary16 these operators saturate, unlike fn.cast.
void clamp_infinities(uint16_t* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] -= (x[i] & 0x7fff) == 0x7c00;
}

}  // namespace

SchemaBuilder& add_window_copy_args(SchemaBuilder& schema) {
  return schema.with(add_out_of_bounds_args)
      .optional_arg("dtype", ArgType::kDType,
                    "Element type of the output: uint8, float16, float32 or the input's type, "
                    "which is the default.")
      .deprecated_arg("image_type", ArgType::kImageType, "Has no effect.")
      .deprecated_arg("output_dtype", ArgType::kDType, "Old name of `dtype`.", "dtype");
}

WindowCopy::WindowCopy(const OpSpec& spec) : out_of_bounds_(spec) {
  if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
}

DType WindowCopy::checked_dtype(DType of_input) const {
  const DType dtype = dtype_ == DType::kNone ? of_input : dtype_;
  TORCHDALI_CHECK_KIND(kType,
                       dtype == of_input || dtype == DType::kUInt8 || dtype == DType::kFloat16 ||
                           dtype == DType::kFloat,
                       "`dtype` is ", dtype_name(dtype), ", expected ", dtype_name(of_input),
                       " (the input's type), uint8, float16 or float32", to_fix("use fn.cast"));
  return dtype;
}

void WindowCopy::run_gpu(SampleContext& ctx, const Layout& layout, int channel_axis,
                         Window window) const {
  const SampleView& in = ctx.input(0);
  const DType dtype = checked_dtype(in.dtype);
  out_of_bounds_.apply(window, in.shape);
  if (dtype == in.dtype && window.shape == in.shape && window.inside(in.shape)) {
    SampleView same = in;
    same.layout = layout;
    ctx.share_input(0, 0, same);
    return;
  }
  const SampleView& out = ctx.output(0, dtype, window.shape, layout);
  std::vector<int> order(static_cast<size_t>(in.shape.ndim()));
  std::iota(order.begin(), order.end(), 0);
  auto& step = ctx.batch_state<gpu::SingleStep<gpu::WindowKernel>>();
  gpu::WindowTask task;
  if (gpu::set_window(step.blob, task, in, out, window.anchor, window.shape, order, -1,
                      channel_axis,
                      [&](int64_t c, int64_t count) { return out_of_bounds_.fill(c, count); }))
    step.tasks.add(ctx, task);
}

std::optional<ImagePart> WindowCopy::part(const SampleView& image, Window window) const {
  if (checked_dtype(image.dtype) != image.dtype) return std::nullopt;
  out_of_bounds_.apply(window, image.shape);
  return image_part(window, image.shape);
}

void WindowCopy::operator()(SampleContext& ctx, const Layout& layout, int channel_axis,
                            Window window) const {
  const SampleView& in = ctx.input(0);
  const DType dtype = checked_dtype(in.dtype);
  out_of_bounds_.apply(window, in.shape);
  const bool inside = window.inside(in.shape);
  if (inside && dtype == in.dtype && share(ctx, in, window, layout)) return;

  SampleView& out = ctx.output(0, dtype, window.shape, layout);
  if (out.volume() == 0) return;
  const kernels::Overlap overlap(in.shape, window.anchor, window.shape);
  if (!inside) fill(out, channel_axis, overlap);
  if (overlap.empty) return;
  const int64_t in_size = itemsize(in.dtype), out_size = itemsize(dtype);
  const char* from = in.as<const char>();
  char* to = out.as<char>();
  const auto each_run = [&](auto&& copy) {
    kernels::for_each_run(in.shape, overlap.from, out.shape, overlap.to, overlap.shape,
                          [&](int64_t from_offset, int64_t to_offset, int64_t count) {
                            copy(to + to_offset * out_size, from + from_offset * in_size, count);
                          });
  };
  if (dtype == in.dtype) {
    each_run([&](char* o, const char* i, int64_t n) { std::memcpy(o, i, n * out_size); });
    return;
  }
  const kernels::ConvertFn convert = dtype == DType::kUInt8
                                         ? kernels::truncating_converter_to_uint8(in.dtype)
                                         : kernels::converter(dtype, in.dtype);
  each_run([&](char* o, const char* i, int64_t n) {
    convert(o, i, n);
    if (dtype == DType::kFloat16) clamp_infinities(reinterpret_cast<uint16_t*>(o), n);
  });
}

void WindowCopy::fill(const SampleView& out, int channel_axis,
                      const kernels::Overlap& overlap) const {
  int64_t outer = 1, inner = 1;
  const int64_t channels = channel_axis < 0 ? 1 : out.shape[channel_axis];
  for (int i = 0; i < out.shape.ndim(); ++i)
    if (i != channel_axis) (i < channel_axis ? outer : inner) *= out.shape[i];
  const int64_t size = itemsize(out.dtype);
  const auto element = [&](int64_t channel) {
    return kernels::fill_element(out.dtype, out_of_bounds_.fill(channel, channels));
  };
  if (out_of_bounds_.uniform() && !overlap.empty)
    return kernels::fill_outside(out.data, size, out.shape, overlap.to, overlap.shape, element(0));
  std::vector<uint64_t> elements(static_cast<size_t>(channels));
  for (int64_t c = 0; c < channels; ++c) elements[static_cast<size_t>(c)] = element(c);
  kernels::fill_channels(out.data, size, outer, inner, elements);
}

}  // namespace torchdali
