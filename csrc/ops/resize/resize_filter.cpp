// SPDX-License-Identifier: Apache-2.0
// From arguments and layouts to a job of the resampling kernel.
#include "ops/resize/resize_filter.h"

#include <algorithm>
#include <array>
#include <span>

#include "kernels/resample/resample_table.h"
#include "ops/resize/strip_tables.h"

namespace torchdali {
namespace {

kernels::ResampleFilter checked_filter(InterpType type, const char* name) {
  TORCHDALI_CHECK(type >= InterpType::kNN && type <= InterpType::kGaussian, "`", name,
                  "` is not an interpolation type: ", static_cast<int>(type));
  return static_cast<kernels::ResampleFilter>(type);
}

// Most elements of a result.
constexpr double kMaxElements = 0x1p40;

constexpr size_t kRows = 1, kColumns = 2;  // of ResampleJob::axes

ImagePart::Axis source_of(const kernels::ResampleAxis& axis) {
  const auto range = kernels::resample_source_range(axis);
  return {.begin = range.begin, .extent = range.end - range.begin};
}

class Resampling final : public ImageResampling {
 public:
  explicit Resampling(const ResampleArgs::Task& task) : task_(task) {}
  SampleView image() const override {
    return {.dtype = task_.job.out_type, .shape = task_.out_shape, .layout = task_.layout};
  }
  void narrow(const ImagePart& part) override {
    narrow(kRows, part.rows);
    narrow(kColumns, part.columns);
  }
  float reduction() const override {
    const auto& axes = task_.job.axes;
    return std::min(kernels::resample_reduction(axes[kRows]),
                    kernels::resample_reduction(axes[kColumns]));
  }
  void reduce(int scale, const ImagePart& window, const ImagePart& smaller) override {
    const auto reduce_axis = [scale](kernels::ResampleAxis& axis, const ImagePart::Axis& from,
                                     const ImagePart::Axis& to) {
      axis = kernels::resample_smaller(axis, from.begin, scale, {to.begin, to.end()});
    };
    reduce_axis(task_.job.axes[kRows], window.rows, smaller.rows);
    reduce_axis(task_.job.axes[kColumns], window.columns, smaller.columns);
  }
  ImagePart source() const override {
    const auto& axes = task_.job.axes;
    return {.rows = source_of(axes[kRows]), .columns = source_of(axes[kColumns])};
  }
  void start(SampleContext& ctx, const void* pixels, const ImagePart& stored,
             int64_t row_stride) override {
    if (rows_ != nullptr) return rows_->restart(pixels);
    // The kernel uses coordinates of the whole image, so that rounding is the same.
    kernels::ResampleJob& job = task_.job;
    job.in_row_stride = row_stride;
    job.axes[kRows].stored = stored.rows.begin;
    job.axes[kColumns].stored = stored.columns.begin;
    void* scratch = ctx.scratch<std::byte>(kernels::resample_scratch_bytes(job)).data();
    rows_ = kernels::resample_rows(job, pixels, scratch);
  }
  void make_rows(int64_t begin, int64_t end, void* out) override {
    if (rows_ != nullptr) rows_->make(begin, end, out, task_.job.axes[kColumns].out * channels());
  }

 private:
  int64_t channels() const { return task_.job.channels; }
  void narrow(size_t which, const ImagePart::Axis& part) {
    kernels::ResampleAxis& axis = task_.job.axes[which];
    const ImagePart::Axis now{.begin = axis.begin, .extent = axis.out, .mirror = axis.mirror};
    const ImagePart::Axis then = now.of(part);
    axis.begin = then.begin;
    axis.out = then.extent;
    axis.mirror = then.mirror;
    task_.out_shape[static_cast<int>(which) - 1] = then.extent;
  }

  ResampleArgs::Task task_;
  std::unique_ptr<kernels::ResampledRows> rows_;
};

// The tables of a whole result, in scratch memory, and their resampling.
struct Tables {
  std::array<kernels::AxisTable, 3> axes;

  Tables(SampleContext& ctx, const kernels::ResampleJob& job) {
    for (const kernels::ResampleAxis& axis : job.axes) kernels::check_axis(axis);
    kernels::ScratchArena counting(nullptr);
    build(job, counting);
    kernels::ScratchArena arena(ctx.scratch<std::byte>(counting.used()).data());
    build(job, arena);
  }
  // Reduces the resampling to a part of the result. Tables are built for the whole result first,
  // because the number of taps, and so the order of additions, depends on it.
  void narrow(size_t axis, const ImagePart::Axis& part) {
    kernels::AxisTable& table = axes[axis];
    table.start += part.begin;
    table.weights += part.begin * table.taps;
    table.out = part.extent;
    if (!part.mirror) return;
    std::reverse(table.start, table.start + table.out);
    for (int64_t low = 0, high = table.out - 1; low < high; ++low, --high)
      std::swap_ranges(table.weights + low * table.taps, table.weights + (low + 1) * table.taps,
                       table.weights + high * table.taps);
  }

 private:
  void build(const kernels::ResampleJob& job, kernels::ScratchArena& arena) {
    for (size_t a = 0; a < 3; ++a) axes[a] = kernels::build_table(job.axes[a], a < kColumns, arena);
  }
};

// What is in memory.
struct Stored {
  std::array<int64_t, 3> extents = {1, 1, 1};  // D, H, W
  int64_t row_stride = 0;                      // in elements
};

// Sets the fields of `task` about the resampling, except for the tables and addresses.
void set_axes(gpu::ResampleTask& task, const kernels::ResampleJob& job, const Tables& tables,
              const Stored& source) {
  task.in_dtype = job.in_type;
  task.out_dtype = job.out_type;
  task.channels = job.channels;
  const std::array<int64_t, 3> strides = {source.row_stride * source.extents[kRows],
                                          source.row_stride, job.channels};
  for (size_t a = 0; a < 3; ++a)
    task.axes[a] = {
        .out = tables.axes[a].out, .taps = tables.axes[a].taps, .in_stride = strides[a]};
  task.outer_stride = strides[0] * source.extents[0];
}
// Sets the tables of a task that can be resampled by strips.
bool set_strips(gpu::Blob* blob, gpu::ResampleTask& task, const kernels::ResampleJob& job,
                const Tables& tables, const Stored& source, bool pixels, int batch) {
  return gpu::set_strips(blob, task,
                         {.rows = tables.axes[kRows],
                          .columns = tables.axes[kColumns],
                          .height = source.extents[kRows],
                          .width = source.extents[kColumns],
                          .outer = job.outer,
                          .first_row = job.axes[kRows].stored},
                         pixels, batch);
}
// Sets the tables of any other task.
void set_boxes(gpu::Blob& blob, gpu::ResampleTask& task, const kernels::ResampleJob& job,
               const Tables& tables) {
  for (size_t a = 0; a < 3; ++a) {
    const kernels::AxisTable& table = tables.axes[a];
    const auto count = static_cast<size_t>(table.out),
               all = count * static_cast<size_t>(table.taps);
    task.axes[a].start = blob.keep(std::span<const int32_t>(table.start, count));
    task.axes[a].weights = blob.keep(std::span<const float>(table.weights, all));
  }
  task.size = job.outer * task.axes[0].out * task.axes[1].out *
              ((task.axes[2].out + gpu::kResampleRun - 1) / gpu::kResampleRun);
}

class ResamplingInChain final : public gpu::ChainResampling {
 public:
  ResamplingInChain(SampleContext& ctx, const ResampleArgs::Task& task, const SampleView& in)
      : task_(task), tables_(ctx, task.job), part_(ImagePart::whole(task.out_shape)) {
    source_.extents = {1, in.shape[0], in.shape[1]};
    source_.row_stride = in.shape[1] * in.shape[2];
    if (image().volume() == 0) return;
    gpu::ResampleTask alone;
    set_axes(alone, task_.job, tables_, source_);
    by_strips_ = set_strips(nullptr, alone, task_.job, tables_, source_, /*pixels=*/true, 1);
  }
  SampleView image() const override {
    SampleView image{.dtype = task_.job.out_type, .shape = task_.out_shape, .layout = task_.layout};
    image.shape[0] = part_.rows.extent;
    image.shape[1] = part_.columns.extent;
    return image;
  }
  void narrow(const ImagePart& part) override { part_ = part_.of(part); }
  bool by_strips() const override { return by_strips_; }
  bool describe(const SampleContext& ctx, gpu::Blob& blob, gpu::ChainTask& task,
                int64_t row_stride) override {
    source_.row_stride = row_stride;
    tables_.narrow(kRows, part_.rows);
    tables_.narrow(kColumns, part_.columns);
    set_axes(task, task_.job, tables_, source_);
    if (by_strips_)
      return set_strips(&blob, task, task_.job, tables_, source_, /*pixels=*/true,
                        ctx.batch_size());
    set_boxes(blob, task, task_.job, tables_);
    return true;
  }

 private:
  ResampleArgs::Task task_;
  Tables tables_;
  Stored source_;
  ImagePart part_;
  bool by_strips_ = false;
};

}  // namespace

SpatialAxes SpatialAxes::of(const Layout& layout) {
  const int d = layout.find('D');
  return {.first = d >= 0 ? d : layout.find('H'), .ndim = d >= 0 ? 3 : 2};
}

SchemaBuilder& add_resample_args(SchemaBuilder& schema) {
  return schema.with(add_filter_args)
      .optional_arg("dtype", ArgType::kDType,
                    "Element type of the result: that of the input (the default) or float. "
                    "Integers are rounded and saturate.");
}

SchemaBuilder& add_filter_args(SchemaBuilder& schema) {
  constexpr auto kPerSample = Arity::kPerSample;
  return schema
      .arg("interp_type", InterpType::kLinear,
           "Filter along every axis, unless `min_filter` or `mag_filter` is given: nearest "
           "neighbor, linear (triangular is the same), cubic (Catmull-Rom), Lanczos with 3 lobes "
           "or Gaussian.",
           kPerSample)
      .arg("min_filter", InterpType::kLinear, "Filter along axes that shrink.", kPerSample)
      .arg("mag_filter", InterpType::kLinear, "Filter along axes that grow or keep their size.",
           kPerSample)
      .arg("antialias", true,
           "Widen the filter by the scale along axes that shrink, so that every input pixel "
           "counts. Nearest neighbor is never widened.")
      .arg("filter_edges", "extend",
           "What filters read beyond the edges of the region. \"extend\": the input's pixels, "
           "or its border pixel. \"cut\": nothing, as if the region had been cut out "
           "before, and outside the input; this is what Pillow and torchvision do. torchdali only.")
      .arg("minibatch_size", 32, "A hint for the GPU; without effect on the CPU.")
      .arg("temp_buffer_hint", 0, "A hint for the GPU; without effect on the CPU.");
}

ResampleArgs::ResampleArgs(const OpSpec& spec)
    : interp_type_(spec, "interp_type"),
      min_filter_(spec, "min_filter"),
      mag_filter_(spec, "mag_filter"),
      antialias_(spec.get<bool>("antialias")) {
  if (spec.defined("dtype")) dtype_ = spec.get<DType>("dtype");
  const auto edges = spec.get<std::string>("filter_edges");
  cut_ = edges == "cut";
  TORCHDALI_CHECK(cut_ || edges == "extend", "`filter_edges` is \"", edges,
                  "\", expected \"extend\" or \"cut\"");
}

DType ResampleArgs::out_type(DType in) const {
  const bool supported =
      in == DType::kUInt8 || in == DType::kInt16 || in == DType::kUInt16 || in == DType::kFloat;
  TORCHDALI_CHECK_KIND(kType, supported, "the input has type ", dtype_name(in),
                       ", expected uint8, int16, uint16 or float32", to_fix("fn.cast(...)"));
  const DType out = dtype_ == DType::kNone ? in : dtype_;
  TORCHDALI_CHECK_KIND(kType, out == in || out == DType::kFloat, "`dtype` is ", dtype_name(out),
                       ", expected float32 or the type of the input, ", dtype_name(in));
  return out;
}

kernels::ResampleAxis ResampleArgs::filters(const SampleContext& ctx) const {
  const auto common = checked_filter(interp_type_(ctx), "interp_type");
  kernels::ResampleAxis axis;
  axis.min_filter = min_filter_.given() ? checked_filter(min_filter_(ctx), "min_filter") : common;
  axis.mag_filter = mag_filter_.given() ? checked_filter(mag_filter_(ctx), "mag_filter") : common;
  axis.antialias = antialias_;
  axis.cut = cut_;
  return axis;
}

ResampleArgs::Task ResampleArgs::plan(const SampleContext& ctx, const SampleView& in,
                                      const Layout& layout, const ResizeGeometry& geometry,
                                      const ResizeWindow& window) const {
  const kernels::ResampleAxis filters = this->filters(ctx);
  const SpatialAxes axes = SpatialAxes::of(layout);
  kernels::ResampleJob job{.in_type = in.dtype, .out_type = out_type(in.dtype)};
  Shape shape = in.shape;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (i < axes.first) job.outer *= shape[i];
    else if (i >= axes.first + axes.ndim) job.channels *= shape[i];
  }
  double elements = static_cast<double>(job.outer) * static_cast<double>(job.channels);
  for (int a = 0; a < axes.ndim; ++a) {
    kernels::ResampleAxis& axis = job.axes[3 - axes.ndim + a];
    axis = filters;
    axis.in = in.shape[axes.first + a];
    axis.out = window.out[a];
    axis.low = geometry.low[a];
    axis.high = geometry.high[a];
    axis.full = geometry.out[a];
    axis.begin = window.begin[a];
    axis.mirror = window.mirror[a];
    shape[axes.first + a] = window.out[a];
    elements *= static_cast<double>(window.out[a]);
  }
  TORCHDALI_CHECK(elements < kMaxElements, "a result of shape ", shape, " is too large");
  return {job, shape, layout};
}

void add_resampling(SampleContext& ctx, gpu::Blob& blob,
                    gpu::Tasks<gpu::ResampleStripsKernel>& strips,
                    gpu::Tasks<gpu::ResampleKernel>& boxes, const kernels::ResampleJob& job,
                    const std::array<int64_t, 3>& stored, const void* in, void* out, bool output) {
  const Stored source{.extents = stored, .row_stride = stored[kColumns] * job.channels};
  const Tables tables(ctx, job);
  gpu::ResampleTask task;
  task.in = in;
  task.out = out;
  set_axes(task, job, tables, source);
  const auto add = [&](auto& tasks) {
    if (output) tasks.add(ctx, task);
    else tasks.add_intermediate(task);
  };
  if (set_strips(&blob, task, job, tables, source, /*pixels=*/false, ctx.batch_size()))
    return add(strips);
  set_boxes(blob, task, job, tables);
  add(boxes);
}

void resample_on_gpu(SampleContext& ctx, ResampleSteps& steps, const ResampleArgs::Task& what) {
  const SampleView& out = ctx.output(0, what.job.out_type, what.out_shape, what.layout);
  if (out.volume() == 0) return;
  const SampleView& in = ctx.input(0);
  const SpatialAxes axes = SpatialAxes::of(what.layout);
  std::array<int64_t, 3> stored = {1, 1, 1};
  const auto first = stored.size() - static_cast<size_t>(axes.ndim);
  for (int a = 0; a < axes.ndim; ++a)
    stored[first + static_cast<size_t>(a)] = in.shape[axes.first + a];
  add_resampling(ctx, steps.blob, steps.strips, steps.boxes, what.job, stored, in.data, out.data,
                 /*output=*/true);
}

std::unique_ptr<gpu::ChainResampling> ResamplesOnGpu::plan(SampleContext& ctx,
                                                           const SampleView& in) const {
  return std::make_unique<ResamplingInChain>(ctx, task(ctx, in), in);
}

std::unique_ptr<ImageResampling> plan_resampling(const ResampleArgs::Task& task) {
  return std::make_unique<Resampling>(task);
}

void CpuResampler::run(SampleContext& ctx) const {
  const SampleView& in = ctx.input(0);
  const ResampleArgs::Task what = task(ctx, in);
  const SampleView& out = ctx.output(0, what.job.out_type, what.out_shape, what.layout);
  const size_t bytes = kernels::resample_scratch_bytes(what.job);
  kernels::resample(what.job, in.data, out.data, ctx.scratch<std::byte>(bytes).data());
}

std::unique_ptr<ImageResampling> CpuResampler::plan(SampleContext& ctx,
                                                    const SampleView& in) const {
  return plan_resampling(task(ctx, in));
}

}  // namespace torchdali
