// SPDX-License-Identifier: Apache-2.0
// fn.gain: makes signals louder or quieter, by a factor or to a level.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "core/argument.h"
#include "core/audio/audio_part.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/audio_augment/level.h"
#include "kernels/audio_augment/level_gpu.h"
#include "ops/audio_augment/level_tasks.h"

namespace torchdali {
namespace {

using kernels::Level;

// What both halves do first.
class GainArgs {
 public:
  explicit GainArgs(const OpSpec& spec)
      : db_(spec, "db"),
        factor_(spec, "factor"),
        limit_(spec.get<bool>("clip") ? 1.0f : std::numeric_limits<float>::infinity()) {
    const auto normalize = spec.get<std::string>("normalize");
    if (normalize == "peak") level_ = Level::kPeak;
    else if (normalize == "rms") level_ = Level::kEnergy;
    else
      TORCHDALI_CHECK(normalize == "none", "`normalize` is \"", normalize,
                      "\", expected \"none\", \"peak\" or \"rms\"");
  }
  // The factor of this sample, after what normalizes it.
  double factor(const SampleContext& ctx) const {
    const double db = db_(ctx), factor = factor_(ctx);
    const double result = factor * std::pow(10.0, db / 20);
    TORCHDALI_CHECK(std::isfinite(result), "`db` is ", db, " and `factor` is ", factor,
                    ", which is no finite gain");
    return result;
  }
  float limit() const { return limit_; }
  // The level that is normalized.
  std::optional<Level> level() const { return level_; }
  // Checks the input and makes the output.
  static SampleView& make_output(SampleContext& ctx) {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `audio` is ",
                         dtype_name(in.dtype), ", expected float32",
                         to_fix("use fn.cast, or decode with dtype=types.FLOAT"));
    return ctx.output(0, in.dtype, in.shape, in.layout);
  }

 private:
  Arg<double> db_, factor_;
  float limit_;
  std::optional<Level> level_;
};

class LouderSignal final : public SignalReader {
 public:
  LouderSignal(SignalReader& in, float factor, float limit)
      : SignalReader(in.length()), in_(in), factor_(factor), limit_(limit) {}
  void read(float* out, int64_t count) override {
    in_.read(out, count);
    kernels::apply_gain(out, out, count, factor_, limit_);
  }

 private:
  SignalReader& in_;
  float factor_, limit_;
};

class Gain final : public Operator, public FiltersSignal {
 public:
  explicit Gain(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const double factor = args_.factor(ctx);
    const SampleView &out = GainArgs::make_output(ctx), &in = ctx.input(0);
    const int64_t count = in.volume();
    const auto* from = in.as<const float>();
    auto by = static_cast<float>(factor);
    if (args_.level().has_value() && count > 0) {
      const Level kind = *args_.level();
      const double level = kernels::signal_level(kind, {.data = from, .period = count}, count);
      by = kernels::level_factor(kind, level, count, factor);
    }
    kernels::apply_gain(out.as<float>(), from, count, by, args_.limit());
  }

  std::unique_ptr<SignalReader> filter_signal(SampleContext& ctx, SignalReader& in) const override {
    if (args_.level().has_value()) return nullptr;  // needs the whole signal first
    return std::make_unique<LouderSignal>(in, static_cast<float>(args_.factor(ctx)), args_.limit());
  }

 private:
  GainArgs args_;
};

struct GainSteps final : gpu::TaskBatch {
  LevelTasks levels{*this};
  gpu::Tasks<gpu::GainKernel> gains{*this};
};

class GainGpu final : public gpu::StepsOperator<GainSteps> {
 public:
  explicit GainGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    gpu::GainTask task;
    task.factor = args_.factor(ctx);
    task.limit = args_.limit();
    task.out = GainArgs::make_output(ctx).data;
    const SampleView& in = ctx.input(0);
    task.in = in.data;
    task.size = task.count = in.volume();
    if (task.size == 0) return;
    if (args_.level().has_value()) {
      task.kind = *args_.level();
      task.level = steps(ctx).levels.add(
          task.kind, {.data = in.as<const float>(), .period = task.count}, task.count);
    }
    steps(ctx).gains.add(ctx, task);
  }

 private:
  GainArgs args_;
};

TORCHDALI_OPERATOR("gain")
    .doc(
        "Multiplies a signal by `factor` and by 10^(db / 20), after an optional normalization, and "
        "clips it if asked to.")
    .input("audio", "Signals of any shape and layout; float32.")
    .output("louder", "Shape, element type and layout of the input.")
    .arg("db", 0.0, "The gain in decibels: 20 makes all values 10 times as large.",
         Arity::kPerSample)
    .arg("factor", 1.0, "The gain as a factor. Both gains are applied.", Arity::kPerSample)
    .arg("normalize", "none",
         "Before the gain, the sample is scaled so that its largest absolute value (\"peak\") or "
         "its root mean square (\"rms\") is 1, over all channels. Silence stays as it is.")
    .arg("clip", false, "Clips the result to [-1, 1].")
    .audio_role(AudioRole::kSignal)
    .cpu<Gain>()
    .gpu<GainGpu>();

}  // namespace
}  // namespace torchdali
