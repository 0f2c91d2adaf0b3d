// SPDX-License-Identifier: Apache-2.0
// fn.tensor_resize: resizes any axes of a tensor.
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "gpu/operator.h"
#include "ops/axes.h"
#include "ops/resize/fit_axes.h"
#include "ops/resize/resize_filter.h"
#include "ops/resize/tensor_passes.h"

namespace torchdali {
namespace {

SizeRounding parse_rounding(const std::string& name) {
  if (name == "round") return SizeRounding::kRound;
  if (name == "truncate") return SizeRounding::kTruncate;
  TORCHDALI_CHECK(name == "ceil", "`size_rounding` is \"", name,
                  "\", expected \"round\", \"truncate\" or \"ceil\"");
  return SizeRounding::kCeil;
}

class TensorResizeArgs {
 public:
  using Passes = std::vector<kernels::ResampleJob>;

  explicit TensorResizeArgs(const OpSpec& spec)
      : axes_(spec),
        resample_(spec),
        sizes_(spec, "sizes"),
        scales_(spec, "scales"),
        max_size_(spec, "max_size"),
        alignment_(spec, "alignment"),
        roi_start_(spec, "roi_start"),
        roi_end_(spec, "roi_end"),
        mode_(parse_resize_mode(spec.get<std::string>("mode"))),
        rounding_(parse_rounding(spec.get<std::string>("size_rounding"))),
        subpixel_scale_(spec.get<bool>("subpixel_scale")),
        roi_relative_(spec.get<bool>("roi_relative")) {
    TORCHDALI_CHECK(sizes_.given() != scales_.given(),
                    "expected exactly one of `sizes` and `scales`");
    TORCHDALI_CHECK(roi_start_.given() == roi_end_.given(),
                    "`roi_start` and `roi_end` must be given together");
  }

  // Makes the output; returns how.
  Passes operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const int ndim = in.shape.ndim();
    TORCHDALI_CHECK(ndim > 0, "the input is a number, expected at least one axis");
    const DType out_type = resample_.out_type(in.dtype);
    const AxisList list = axes_(ctx, in.shape, in.layout);
    std::array<TensorAxis, kMaxDims> tensor;
    Shape shape = in.shape;
    for (int i = 0; i < ndim; ++i)
      tensor[static_cast<size_t>(i)].axis.in = tensor[static_cast<size_t>(i)].axis.out =
          in.shape[i];

    const auto count = static_cast<size_t>(list.count);
    std::array<FitAxis, kMaxDims> fitted = requested(ctx, in.shape, list);
    const auto fit = std::span(fitted).first(count);
    const bool empty = in.shape.volume() == 0;
    if (!empty) fit_axes(fit, mode_, subpixel_scale_, rounding_);
    const kernels::ResampleAxis filters = resample_.filters(ctx);
    for (size_t k = 0; k < count; ++k) {
      const int at = list.axes[k];
      TensorAxis& to = tensor[static_cast<size_t>(at)];
      const int64_t extent = in.shape[at];
      if (empty) {  // stays empty
        const int64_t asked = std::llround(std::abs(fit[k].size));
        shape[at] = extent == 0 ? 0 : asked > 0 ? asked : extent;
        continue;
      }
      to.axis = filters;
      to.axis.in = extent;
      to.axis.out = shape[at] = fit[k].out;
      to.axis.low = fit[k].low;
      to.axis.high = fit[k].high;
      to.kept =
          fit[k].out == extent && fit[k].low == 0 && fit[k].high == static_cast<float>(extent);
    }
    ctx.output(0, out_type, shape, in.layout);
    if (shape.volume() == 0) return {};
    return tensor_passes(std::span(tensor).first(static_cast<size_t>(ndim)), in.dtype, out_type);
  }

 private:
  using Values = std::array<float, kMaxDims>;

  static Values read(const SampleContext& ctx, const ListArg<float>& arg, const char* name,
                     const AxisList& list) {
    static thread_local std::vector<float> buffer;
    const auto given = arg(ctx, buffer);
    const auto count = static_cast<size_t>(list.count);
    TORCHDALI_CHECK(given.size() == 1 || given.size() == count, "`", name, "` has ", given.size(),
                    " values, expected 1 or ", count, ", one for each axis");
    Values values{};
    for (size_t k = 0; k < count; ++k) {
      values[k] = given[given.size() == 1 ? 0 : k];
      TORCHDALI_CHECK(std::isfinite(values[k]), "`", name, "` must be finite, got ", values[k]);
    }
    return values;
  }

  std::array<FitAxis, kMaxDims> requested(const SampleContext& ctx, const Shape& shape,
                                          const AxisList& list) const {
    const Values size =
        sizes_.given() ? read(ctx, sizes_, "sizes", list) : read(ctx, scales_, "scales", list);
    Values limit{}, low{}, high{};
    if (max_size_.given()) limit = read(ctx, max_size_, "max_size", list);
    if (roi_start_.given()) {
      low = read(ctx, roi_start_, "roi_start", list);
      high = read(ctx, roi_end_, "roi_end", list);
    }
    const Values alignment = read(ctx, alignment_, "alignment", list);
    std::array<FitAxis, kMaxDims> axes;
    for (size_t k = 0; k < static_cast<size_t>(list.count); ++k) {
      const auto extent = static_cast<float>(shape[list.axes[k]]);
      const float unit = roi_relative_ ? extent : 1;
      axes[k] = {.size = size[k],
                 .limit = limit[k],
                 .low = roi_start_.given() ? low[k] * unit : 0,
                 .high = roi_start_.given() ? high[k] * unit : extent,
                 .alignment = alignment[k]};
      if (scales_.given()) axes[k].size *= extent;
      TORCHDALI_CHECK(std::abs(axes[k].size) < 0x1p31f, "cannot resize to an extent of ",
                      axes[k].size);
    }
    return axes;
  }

  AxisArgs axes_;
  ResampleArgs resample_;
  ListArg<float> sizes_, scales_, max_size_, alignment_, roi_start_, roi_end_;
  ResizeMode mode_;
  SizeRounding rounding_;
  bool subpixel_scale_, roi_relative_;
};

class TensorResize final : public Operator {
 public:
  explicit TensorResize(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto passes = args_(ctx);
    const void* from = ctx.input(0).data;
    std::span<float> buffers[2];
    for (size_t k = 0; k < passes.size(); ++k) {
      const kernels::ResampleJob& job = passes[k];
      void* to = ctx.output_view(0).data;
      if (k + 1 < passes.size()) {
        const auto size = static_cast<size_t>(pass_volume(job));
        if (buffers[k % 2].size() < size) buffers[k % 2] = ctx.scratch<float>(size);
        to = buffers[k % 2].data();
      }
      const size_t bytes = kernels::resample_scratch_bytes(job);
      kernels::resample(job, from, to, ctx.scratch<std::byte>(bytes).data());
      from = to;
    }
  }

 private:
  TensorResizeArgs args_;
};

// A launch of each kernel for each pass.
class TensorResizeSteps final : public gpu::TaskBatch {
 public:
  void add(SampleContext& ctx, size_t number, const kernels::ResampleJob& job, const void* in,
           void* out, bool output) {
    while (passes_.size() <= number) passes_.push_back(std::make_unique<Pass>(*this));
    Pass& pass = *passes_[number];
    const auto& axes = job.axes;
    add_resampling(ctx, blob, pass.strips, pass.boxes, job, {axes[0].in, axes[1].in, axes[2].in},
                   in, out, output);
  }

 private:
  struct Pass {
    explicit Pass(gpu::TaskBatch& batch) : strips(batch), boxes(batch) {}
    gpu::Tasks<gpu::ResampleStripsKernel> strips;
    gpu::Tasks<gpu::ResampleKernel> boxes;
  };
  std::vector<std::unique_ptr<Pass>> passes_;
};

class TensorResizeGpu final : public gpu::StepsOperator<TensorResizeSteps> {
 public:
  explicit TensorResizeGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto passes = args_(ctx);
    const void* from = ctx.input(0).data;
    for (size_t k = 0; k < passes.size(); ++k) {
      const bool last = k + 1 == passes.size();
      const auto bytes = pass_volume(passes[k]) * static_cast<int64_t>(sizeof(float));
      void* to = last ? ctx.output_view(0).data : steps(ctx).workspace.reserve(bytes);
      steps(ctx).add(ctx, k, passes[k], from, to, last);
      from = to;
    }
  }

 private:
  TensorResizeArgs args_;
};

constexpr auto kPerSample = Arity::kPerSample;
TORCHDALI_OPERATOR("tensor_resize")
    .doc(
        "Resizes any axes of a tensor, or a region of interest of it, with the filters of "
        "fn.resize. Axes that keep their extent and their region stay as they are, whatever the "
        "filter. An empty input stays empty.")
    .input("input", "uint8, int16, uint16 or float32, with at least one axis.")
    .output("resized", "Layout of the input; element type `dtype`.")
    .optional_arg("sizes", ArgType::kFloatVec,
                  "Extents of the result, one for each axis or one for all. 0: follows from the "
                  "others and `mode`. Negative: mirrored. Fractions: see `size_rounding`.",
                  kPerSample)
    .optional_arg(
        "scales", ArgType::kFloatVec,
        "The extents of the result as factors of the input's, also with a region; excludes "
        "`sizes`.",
        kPerSample)
    .arg("alignment", std::vector<float>{0.5f},
         "The point of the region that stays in place when a size is rounded and the region "
         "follows: 0 is its start, 1 its end. One for each axis or one for all.",
         kPerSample)
    .optional_arg("axes", ArgType::kIntVec,
                  "The axes that the other arguments are about, as numbers; negative ones count "
                  "from the end. All by default.")
    .optional_arg("axis_names", ArgType::kLayout,
                  "The same axes by letters of the layout; excludes `axes`.")
    .arg("mode", "default",
         "\"default\": `sizes` as given; absent ones are scaled by the geometric mean of the other "
         "scales. \"stretch\": absent ones are not scaled. \"not_larger\": proportions are kept "
         "and no axis exceeds its size. \"not_smaller\": proportions are kept and no axis falls "
         "below its size.")
    .optional_arg("max_size", ArgType::kFloatVec,
                  "Upper limit of the extents of the result, one for all or one for each axis; 0: "
                  "no limit. If proportions are kept, the whole result shrinks.")
    .arg("size_rounding", "round",
         "How fractions of sizes are rounded: \"round\" (to the nearest), \"truncate\" (down) or "
         "\"ceil\" (up).")
    .arg("subpixel_scale", true,
         "Where sizes are rounded, true: the region grows or shrinks accordingly, so that the "
         "scale is exact. False: the region is kept and the scale changes.")
    .with(add_region_args)
    .with(add_resample_args)
    .cpu<TensorResize>()
    .gpu<TensorResizeGpu>();

}  // namespace
}  // namespace torchdali
