// SPDX-License-Identifier: Apache-2.0
// From arguments and layouts to a job of the resampling kernel.
#include "ops/resize_filter.h"

#include <vector>

#include "kernels/resample_table.h"

namespace torchdali {
namespace {

kernels::ResampleFilter checked_filter(InterpType type, const char* name) {
  TORCHDALI_CHECK(type >= InterpType::kNN && type <= InterpType::kGaussian, "`", name,
                  "` is not an interpolation type: ", static_cast<int>(type));
  return static_cast<kernels::ResampleFilter>(type);
}

// Elements of a result; more cannot be meant.
constexpr double kMaxElements = 0x1p40;

}  // namespace

SpatialAxes SpatialAxes::of(const Layout& layout) {
  const int d = layout.find('D');
  return {.first = d >= 0 ? d : layout.find('H'), .ndim = d >= 0 ? 3 : 2};
}

SchemaBuilder& add_resample_args(SchemaBuilder& schema) {
  constexpr auto kPerSample = Arity::kPerSample;
  return schema
      .arg("interp_type", InterpType::kLinear,
           "Filter along every axis, unless `min_filter` or `mag_filter` is given: nearest "
           "neighbour, linear (triangular is the same), cubic (Catmull-Rom), Lanczos with 3 lobes "
           "or Gaussian.",
           kPerSample)
      .arg("min_filter", InterpType::kLinear, "Filter along axes that shrink.", kPerSample)
      .arg("mag_filter", InterpType::kLinear, "Filter along axes that grow or keep their size.",
           kPerSample)
      .arg("antialias", true,
           "Widen the filter by the scale along axes that shrink, so that every input pixel "
           "counts. Nearest neighbour is never widened.")
      .optional_arg("dtype", ArgType::kDType,
                    "Element type of the result: that of the input (the default) or float. "
                    "Integers are rounded and saturate.")
      .arg("minibatch_size", 32, "A hint for the GPU; without effect on the CPU.")
      .arg("temp_buffer_hint", 0, "A hint for the GPU; without effect on the CPU.");
}

ResampleArgs::ResampleArgs(const OpSpec& spec)
    : interp_type_(spec, "interp_type"),
      min_filter_(spec, "min_filter"),
      mag_filter_(spec, "mag_filter"),
      antialias_(spec.get<bool>("antialias")) {
  if (spec.defined("dtype")) dtype_ = spec.get<DType>("dtype");
}

void ResampleArgs::run(SampleContext& ctx, const Layout& layout,
                       const ResizeGeometry& geometry) const {
  run(ctx, layout, geometry, {.out = geometry.out});
}

void ResampleArgs::run(SampleContext& ctx, const Layout& layout, const ResizeGeometry& geometry,
                       const ResizeWindow& window) const {
  const SampleView& in = ctx.input(0);
  run(ctx, plan(ctx, in.dtype, in.shape, layout, geometry, window), layout, in.data);
}

ResampleArgs::Task ResampleArgs::plan(const SampleContext& ctx, DType in_type,
                                      const Shape& in_shape, const Layout& layout,
                                      const ResizeGeometry& geometry,
                                      const ResizeWindow& window) const {
  const bool supported = in_type == DType::kUInt8 || in_type == DType::kInt16 ||
                         in_type == DType::kUInt16 || in_type == DType::kFloat;
  TORCHDALI_CHECK_KIND(kType, supported, "the input has type ", dtype_name(in_type),
                       ", expected uint8, int16, uint16 or float32. To fix it: fn.cast(...)");
  const DType out_type = dtype_ == DType::kNone ? in_type : dtype_;
  TORCHDALI_CHECK_KIND(kType, out_type == in_type || out_type == DType::kFloat, "`dtype` is ",
                       dtype_name(out_type), ", expected float32 or the type of the input, ",
                       dtype_name(in_type));

  const auto common = checked_filter(interp_type_(ctx), "interp_type");
  const auto min_filter =
      min_filter_.given() ? checked_filter(min_filter_(ctx), "min_filter") : common;
  const auto mag_filter =
      mag_filter_.given() ? checked_filter(mag_filter_(ctx), "mag_filter") : common;
  const SpatialAxes axes = SpatialAxes::of(layout);
  kernels::ResampleJob job{.in_type = in_type, .out_type = out_type};
  Shape shape = in_shape;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (i < axes.first) job.outer *= shape[i];
    else if (i >= axes.first + axes.ndim) job.channels *= shape[i];
  }
  double elements = static_cast<double>(job.outer) * static_cast<double>(job.channels);
  for (int a = 0; a < axes.ndim; ++a) {
    job.axes[3 - axes.ndim + a] = {.in = in_shape[axes.first + a],
                                   .out = window.out[a],
                                   .low = geometry.low[a],
                                   .high = geometry.high[a],
                                   .min_filter = min_filter,
                                   .mag_filter = mag_filter,
                                   .antialias = antialias_,
                                   .full = geometry.out[a],
                                   .begin = window.begin[a],
                                   .mirror = window.mirror[a]};
    shape[axes.first + a] = window.out[a];
    elements *= static_cast<double>(window.out[a]);
  }
  TORCHDALI_CHECK(elements < kMaxElements, "a result of shape ", shape, " is too large");
  return {job, shape};
}

void ResampleArgs::run(SampleContext& ctx, const Task& task, const Layout& layout, const void* in) {
  const SampleView& out = ctx.output(0, task.job.out_type, task.out_shape, layout);
  const size_t bytes = kernels::resample_scratch_bytes(task.job);
  kernels::resample(task.job, in, out.data, ctx.scratch<std::byte>(bytes).data());
}

void ResampleArgs::run_gpu(SampleContext& ctx, const Layout& layout, const ResizeGeometry& geometry,
                           const ResizeWindow& window) const {
  const SampleView& in = ctx.input(0);
  const Task planned = plan(ctx, in.dtype, in.shape, layout, geometry, window);
  const kernels::ResampleJob& job = planned.job;
  const SampleView& out = ctx.output(0, job.out_type, planned.out_shape, layout);
  if (out.volume() == 0) return;
  gpu::ResampleTask task;
  task.in = in.data;
  task.out = out.data;
  task.in_dtype = job.in_type;
  task.out_dtype = job.out_type;
  task.channels = job.channels;
  const int64_t width = job.axes[2].out;
  task.size =
      out.volume() / job.channels / width * ((width + gpu::kResampleRun - 1) / gpu::kResampleRun);
  auto& tasks = ctx.batch_state<gpu::Tasks<gpu::ResampleTask>>();
  int64_t stride = job.channels;
  for (size_t a = 3; a-- > 0;) {
    const kernels::ResampleAxis& axis = job.axes[a];
    kernels::check_axis(axis);
    const bool add_up = a < 2;
    kernels::ScratchArena counting(nullptr);
    (void)kernels::build_table(axis, add_up, counting);
    kernels::ScratchArena arena(ctx.scratch<std::byte>(counting.used()).data());
    const kernels::AxisTable table = kernels::build_table(axis, add_up, arena);
    const auto count = static_cast<size_t>(table.out), taps = static_cast<size_t>(table.taps);
    task.axes[a] = {.out = table.out,
                    .taps = table.taps,
                    .start = tasks.keep(std::span<const int32_t>(table.start, count)),
                    .weights = tasks.keep(std::span<const float>(table.weights, count * taps)),
                    .in_stride = stride};
    stride *= axis.in;
  }
  task.outer_stride = stride;
  tasks.add(ctx, task);
}

}  // namespace torchdali
