// SPDX-License-Identifier: Apache-2.0
// fn.filter: correlation with a filter that comes as an input.
#include <algorithm>
#include <limits>
#include <string>

#include "core/argument.h"
#include "gpu/operator.h"
#include "kernels/convert.h"
#include "kernels/filter/correlate.h"
#include "kernels/filter/correlate_gpu.h"
#include "ops/filter/convolution_axes.h"

namespace torchdali {
namespace {

kernels::Border parse_border(const std::string& name) {
  if (name == "reflect_101" || name == "101") return kernels::Border::kReflect101;
  if (name == "reflect_1001" || name == "1001") return kernels::Border::kReflect1001;
  if (name == "wrap") return kernels::Border::kWrap;
  if (name == "clamp") return kernels::Border::kClamp;
  TORCHDALI_CHECK(name == "constant", "`border` is \"", name,
                  "\", expected \"reflect_101\", \"reflect_1001\", \"wrap\", \"clamp\" or "
                  "\"constant\"");
  return kernels::Border::kConstant;
}

class FilterArgs {
 public:
  explicit FilterArgs(const OpSpec& spec)
      : layout_(spec),
        anchor_(spec, "anchor"),
        border_(parse_border(spec.get<std::string>("border"))) {
    const auto mode = spec.get<std::string>("mode");
    TORCHDALI_CHECK(mode == "same" || mode == "valid", "`mode` is \"", mode,
                    "\", expected \"same\" or \"valid\"");
    valid_ = mode == "valid";
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
  }

  struct Correlation {
    ConvolutionAxes axes;
    std::vector<float> weights = {};
    kernels::CorrelateJob job = {};
  };
  // Makes the output.
  Correlation operator()(SampleContext& ctx) const {
    const SampleView &in = ctx.input(0), &filter = ctx.input(1);
    Correlation correlation{.axes = {in.shape, layout_(in.shape, in.layout)}};
    const ConvolutionAxes& axes = correlation.axes;
    const int ndim = axes.ndim;
    TORCHDALI_CHECK(filter.shape.ndim() == ndim && filter.volume() > 0, "`filter` has shape ",
                    filter.shape, ", expected ", ndim,
                    ndim == 1 ? " axis, as the data has" : " axes, as many as the data has");
    kernels::CorrelateJob& job = correlation.job;
    job.in_type = in.dtype;
    job.out_type = convolution_dtype(in.dtype, dtype_);
    job.in = job.out = axes.extents;
    job.channels = axes.channels;
    job.border = border_;
    for (int i = 0; i < ndim; ++i) job.filter_extents[3 - ndim + i] = filter.shape[i];
    if (valid_) fit(job);
    else read_anchor(ctx, ndim, job);
    std::vector<float>& weights = correlation.weights;
    weights.resize(static_cast<size_t>(filter.volume()));
    kernels::converter(DType::kFloat, filter.dtype)(weights.data(), filter.data, filter.volume());
    job.filter = weights.data();
    if (ctx.num_inputs() > 2) job.fill = read_fill(ctx.input(2));

    Shape shape = in.shape;
    for (int i = 0; i < ndim; ++i) shape[axes.first + i] = job.out[3 - ndim + i];
    if (ctx.output(0, job.out_type, shape, in.layout).volume() > 0) check_memory(job);
    return correlation;
  }

 private:
  static void fit(kernels::CorrelateJob& job) {
    for (size_t i = 0; i < 3; ++i) {
      job.out[i] = job.in[i] - job.filter_extents[i] + 1;
      TORCHDALI_CHECK(job.out[i] > 0, "the filter is larger than the data: ", job.filter_extents[i],
                      " and ", job.in[i], " along an axis",
                      to_fix("use mode=\"same\", or a smaller filter"));
    }
  }
  void read_anchor(const SampleContext& ctx, int ndim, kernels::CorrelateJob& job) const {
    std::array<int64_t, 3> anchor{};
    read_per_axis(ctx, anchor_, "anchor", ndim, anchor);
    for (int i = 0; i < ndim; ++i) {
      const int64_t extent = job.filter_extents[3 - ndim + i], at = anchor[i];
      TORCHDALI_CHECK(at >= -1 && at < extent, "`anchor` has ", at, ", expected 0 to ", extent - 1,
                      " (inside the filter), or -1 for its middle");
      job.anchor[3 - ndim + i] = at < 0 ? extent / 2 : at;
    }
  }
  static float read_fill(const SampleView& fill) {
    TORCHDALI_CHECK(fill.volume() == 1, "`fill_value` has shape ", fill.shape,
                    ", expected a scalar");
    float value = 0;
    kernels::converter(DType::kFloat, fill.dtype)(&value, fill.data, 1);
    return value;
  }
  // Rows are stored with the borders that the filter reads.
  static void check_memory(const kernels::CorrelateJob& job) {
    const double floats = (static_cast<double>(job.out[2] + job.filter_extents[2])) *
                          static_cast<double>(job.channels) *
                          static_cast<double>(job.in[0] * job.in[1]);
    TORCHDALI_CHECK(floats < 0x1p40, "a filter of ", job.filter_extents[0], " x ",
                    job.filter_extents[1], " x ", job.filter_extents[2], " is too large");
  }

  KnownLayout layout_;
  ListArg<int64_t> anchor_;
  kernels::Border border_;
  bool valid_ = false;
  DType dtype_ = DType::kNone;
};

class Filter final : public Operator {
 public:
  explicit Filter(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto [axes, weights, job] = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (out.volume() == 0) return;
    float* scratch = ctx.scratch<float>(kernels::correlate_scratch(job)).data();
    const int64_t in_bytes = in.size_bytes() / axes.outer,
                  out_bytes = out.size_bytes() / axes.outer;
    for (int64_t o = 0; o < axes.outer; ++o)
      kernels::correlate(job, in.as<const char>() + o * in_bytes, out.as<char>() + o * out_bytes,
                         scratch);
  }

 private:
  FilterArgs args_;
};

class FilterGpu final : public gpu::KernelOperator<gpu::CorrelateKernel> {
 public:
  explicit FilterGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto [axes, weights, job] = args_(ctx);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() == 0) return;
    Task task;
    task.in = ctx.input(0).data;
    task.out = out.data;
    task.size = out.volume();
    task.in_dtype = job.in_type;
    task.out_dtype = job.out_type;
    std::copy(job.in.begin(), job.in.end(), task.in_extents);
    std::copy(job.out.begin(), job.out.end(), task.out_extents);
    task.channels = job.channels;
    task.border = job.border;
    task.fill = job.fill;
    const std::vector<gpu::CorrelateTap> taps = taps_of(job);
    task.num_taps = static_cast<int64_t>(taps.size());
    task.taps = blob(ctx).keep(std::span(taps));
    tasks(ctx).add(ctx, task);
  }

 private:
  // In the order of correlate(), which also skips taps of 0.
  static std::vector<gpu::CorrelateTap> taps_of(const kernels::CorrelateJob& job) {
    std::vector<gpu::CorrelateTap> taps;
    const float* weight = job.filter;
    for (int64_t d = 0; d < job.filter_extents[0]; ++d)
      for (int64_t h = 0; h < job.filter_extents[1]; ++h)
        for (int64_t w = 0; w < job.filter_extents[2]; ++w, ++weight)
          if (*weight != 0)
            taps.push_back({.at = {d - job.anchor[0], h - job.anchor[1], w - job.anchor[2]},
                            .weight = *weight});
    if (taps.empty()) taps.push_back({.at = {-job.anchor[0], -job.anchor[1], -job.anchor[2]}});
    return taps;
  }

  FilterArgs args_;
};

TORCHDALI_OPERATOR("filter")
    .doc(
        "Correlates with a filter: result(p) is the sum over k of filter(k) * data(p + k - "
        "anchor), for each channel. Computed in float32; integers are rounded and saturate.")
    .input("data",
           "Images, volumes or sequences of numbers: one to three data axes, with frames (F) and "
           "channels (C) before them, or channels after them. Without a layout, all axes are data.")
    .input("filter", "As many axes as the data has; may differ from frame to frame.")
    .optional_input("fill_value",
                    "A scalar: the value outside the data with the constant border, 0 by default. "
                    "May differ from frame to frame.")
    .output("filtered", "Layout of the data, element type `dtype`.")
    .arg("anchor", std::vector<int64_t>{-1},
         "Element of the filter that is placed on the pixel, one for all or one for each data "
         "axis. -1: the middle (extent / 2). Ignored with mode=\"valid\".",
         Arity::kPerSample)
    .arg("border", "reflect_101",
         "Values outside the data: \"reflect_101\" (dcb|abcd|cba), \"reflect_1001\" "
         "(cba|abcd|dcb), \"wrap\" (bcd|abcd|abc), \"clamp\" (aaa|abcd|ddd) or \"constant\" "
         "(`fill_value`). \"101\" and \"1001\" mean the first two.")
    .arg("mode", "same",
         "\"same\": the result has the data's extents. \"valid\": only positions where the whole "
         "filter is inside the data.")
    .optional_arg("dtype", ArgType::kDType, "FLOAT, or the input's type, which is the default.")
    .each_frame()
    .volumes()
    .host_input(1)
    .host_input(2)
    .cpu<Filter>()
    .gpu<FilterGpu>();

}  // namespace
}  // namespace torchdali
