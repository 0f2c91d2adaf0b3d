// SPDX-License-Identifier: Apache-2.0
// fn.to_decibels: the logarithm of powers or magnitudes.
#include <cmath>
#include <cstring>

#include "core/operator.h"
#include "gpu/audio_chain.h"
#include "kernels/audio_features/decibels.h"
#include "kernels/audio_features/decibels_gpu.h"
#include "ops/audio/frame_arrays.h"
#include "ops/math/reduced_axes.h"
#include "ops/math/reduction_tasks.h"

namespace torchdali {
namespace {

using kernels::DecibelScale;

class DecibelArgs {
 public:
  explicit DecibelArgs(const OpSpec& spec) {
    const float multiplier = number(spec, "multiplier"), cutoff = number(spec, "cutoff_db");
    const float reference = number(spec, "reference");
    relative_ = reference == 0;
    scale_ = kernels::decibel_scale(multiplier, cutoff);
    scale_.inverse_reference = kernels::inverse_of_reference(reference);
  }

  SampleView& make_output(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `data` is ", dtype_name(in.dtype),
                         ", expected float32", to_fix("use fn.cast"));
    return ctx.output(0, DType::kFloat, in.shape, in.layout);
  }
  // Whether the reference is the maximum of the sample.
  bool relative() const { return relative_; }
  const DecibelScale& scale() const { return scale_; }
  DecibelScale scale_for(float greatest) const {
    DecibelScale scale = scale_;
    scale.inverse_reference = kernels::inverse_of_reference(greatest);
    return scale;
  }

 private:
  static float number(const OpSpec& spec, const char* name) {
    const float value = spec.get<float>(name);
    TORCHDALI_CHECK(std::isfinite(value), "argument `", name, "` is ", value,
                    ", expected a finite number");
    return value;
  }
  bool relative_;
  DecibelScale scale_;
};

// Keeps the values of `in` until all are known, and so is the greatest.
class RelativeDecibels final : public FrameReader {
 public:
  RelativeDecibels(const DecibelArgs& args, FrameReader& in)
      : FrameReader(in.rows(), in.frames()), args_(args), in_(in), left_(in.frames()) {}
  void read(float* tile) override {
    in_.read(tile);
    const int64_t frames = std::min<int64_t>(left_, kFrameLanes);
    left_ -= frames;
    for (int64_t r = 0; frames < kFrameLanes && r < rows(); ++r)
      std::fill(tile + r * kFrameLanes + frames, tile + (r + 1) * kFrameLanes, 0.0f);
    greatest_ = std::max(greatest_, kernels::greatest_or_zero(tile, rows() * kFrameLanes));
  }
  void finish(float* values, int64_t count) override {
    kernels::to_decibels(values, values, count, args_.scale_for(greatest_));
  }

 private:
  const DecibelArgs& args_;
  FrameReader& in_;
  int64_t left_;
  float greatest_ = 0;
};

class ToDecibels final : public Operator, public FiltersFrames {
 public:
  explicit ToDecibels(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    float* const out = args_.make_output(ctx).as<float>();
    const auto* from = in.as<const float>();
    const int64_t count = in.volume();
    kernels::to_decibels(
        out, from, count,
        args_.relative() ? args_.scale_for(kernels::greatest_or_zero(from, count)) : args_.scale());
  }
  void write_frames(SampleContext& ctx, FrameReader& in, bool time_first) const override {
    store_frames(ctx, in, time_first);
  }
  std::unique_ptr<FrameReader> filter_frames(SampleContext& ctx, FrameReader& in,
                                             bool /*time_first*/) const override {
    if (args_.relative()) return std::make_unique<RelativeDecibels>(args_, in);
    return filtered_frames(
        ctx, in, in.rows(),
        [count = in.rows() * kFrameLanes, scale = args_.scale()](float* to, const float* from) {
          kernels::to_decibels(to, from, count, scale);
        });
  }
  bool needs_finish() const override { return args_.relative(); }

 private:
  DecibelArgs args_;
};

struct DecibelSteps final : gpu::TaskBatch {
  gpu::Reductions maxima{*this};
  gpu::Tasks<gpu::DecibelsKernel> tasks{*this};
};

class ToDecibelsGpu final : public gpu::StepsOperator<DecibelSteps>,
                            public gpu::FiltersFramesInChain {
 public:
  explicit ToDecibelsGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    DecibelSteps& steps = StepsOperator::steps(ctx);
    const SampleView& in = ctx.input(0);
    const SampleView& out = args_.make_output(ctx);
    gpu::DecibelsTask task;
    task.in = in.data;
    task.out = out.data;
    task.size = in.volume();
    task.scale = args_.scale();
    if (args_.relative() && task.size > 0) {
      gpu::FoldTask fold;
      fold.reduction = kernels::Reduction::kMax;
      fold.result = gpu::ReduceResult::kElement;
      fold.out_dtype = DType::kFloat;
      fold.out = steps.workspace.reserve(sizeof(float));
      task.reference = fold.out;
      const gpu::ReducedSample sample = {&in, ReducedAxes::all_axes(in.shape.ndim())};
      steps.maxima.add_intermediate({&sample, 1}, fold);
    }
    steps.tasks.add(ctx, task);
  }
  bool describe_filter(const SampleContext& /*ctx*/, gpu::Blob& /*blob*/,
                       gpu::SpectrogramTask& task) const override {
    if (task.decibels) return false;
    task.decibels = true;
    task.relative = args_.relative();
    task.scale = args_.scale();
    return true;
  }

 private:
  DecibelArgs args_;
};

TORCHDALI_OPERATOR("to_decibels")
    .doc("Converts powers or magnitudes to decibels: multiplier * log10(x / reference).")
    .input("data", "float32, any shape and layout.")
    .output("decibels", "Shape and layout of the input.")
    .arg("multiplier", 10.0f, "The factor of the logarithm: 10 for powers, 20 for magnitudes.")
    .arg("reference", 0.0f, "What is 0 dB. 0: the maximum of the sample.")
    .arg("cutoff_db", -200.0f,
         "The least result, in dB: smaller ratios are replaced, and so are zero, negative numbers "
         "and NaN.")
    .audio_role(AudioRole::kFrames)
    .cpu<ToDecibels>()
    .gpu<ToDecibelsGpu>();

}  // namespace
}  // namespace torchdali
