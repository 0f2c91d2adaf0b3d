// SPDX-License-Identifier: Apache-2.0
// fn.add_noise: mixes recorded noise into signals, at a given ratio of their energies.
#include <cmath>

#include "core/argument.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/audio_augment/level.h"
#include "kernels/audio_augment/level_gpu.h"
#include "ops/audio_augment/level_tasks.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

using kernels::Level;
using kernels::LoopedSignal;

// What is mixed.
struct Mixture {
  LoopedSignal signal, noise;
  int64_t count = 0;
  double factor = 1;  // of the noise, if both energies were equal
};

// What both halves do first.
class AddNoiseArgs {
 public:
  explicit AddNoiseArgs(const OpSpec& spec)
      : layout_(spec, 0),
        noise_layout_(spec, 1),
        snr_(spec, "snr"),
        random_start_(spec.get<bool>("random_start")) {}

  // Makes the output. False if the input is the result.
  bool operator()(SampleContext& ctx, Mixture& to) const {
    const SampleView &in = ctx.input(0), &noise = ctx.input(1);
    SampleView same = in;
    same.layout = layout_(in);
    check(in, "audio");
    check(noise, "noise");
    noise_layout_(noise);
    const auto channels = [](const SampleView& x) { return x.shape.ndim() == 2 ? x.shape[1] : 1; };
    const int64_t count = channels(in);
    TORCHDALI_CHECK(channels(noise) == count, "input `audio` has ", count,
                    " channels and input `noise` has ", channels(noise),
                    to_fix("give both the same number of channels, e.g. "
                           "fn.decoders.audio(downmix=True)"));
    const double snr = snr_(ctx);
    // -inf would be noise only, which has no finite factor.
    const double factor = std::pow(10.0, -snr / 20);
    TORCHDALI_CHECK(std::isfinite(factor), "`snr` is ", snr, ", expected decibels above -6000");
    if (in.volume() == 0 || noise.volume() == 0 || factor == 0) {
      ctx.share_input(0, 0, same);
      return false;
    }
    const int64_t frames = in.shape[0], noise_frames = noise.shape[0];
    RandomStream random = ctx.random();
    const int64_t last = noise_frames >= frames ? noise_frames - frames : noise_frames - 1;
    const int64_t start = random_start_ ? random.uniform_int(0, last) : 0;
    to.count = in.volume();
    to.signal = {.data = in.as<const float>(), .period = to.count};
    to.noise = {.data = noise.as<const float>(), .period = noise.volume(), .start = start * count};
    to.factor = factor;
    ctx.output(0, in.dtype, in.shape, same.layout);
    return true;
  }

 private:
  static void check(const SampleView& x, const char* name) {
    TORCHDALI_CHECK_KIND(kType, x.dtype == DType::kFloat, "input `", name, "` is ",
                         dtype_name(x.dtype), ", expected float32",
                         to_fix("use fn.cast, or decode with dtype=types.FLOAT"));
  }

  InputLayout layout_, noise_layout_;
  Arg<double> snr_;
  bool random_start_;
};

class AddNoise final : public Operator {
 public:
  explicit AddNoise(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    Mixture mixture;
    if (!args_(ctx, mixture)) return;
    const LoopedSignal &signal = mixture.signal, &noise = mixture.noise;
    const int64_t count = mixture.count;
    const float factor =
        kernels::noise_factor(kernels::signal_level(Level::kEnergy, signal, count),
                              kernels::signal_level(Level::kEnergy, noise, count), mixture.factor);
    kernels::mix(ctx.output_view(0).as<float>(), signal.data, noise, count, factor);
  }

 private:
  AddNoiseArgs args_;
};

struct AddNoiseSteps final : gpu::TaskBatch {
  LevelTasks levels{*this};
  gpu::Tasks<gpu::MixKernel> mixtures{*this};
};

class AddNoiseGpu final : public gpu::StepsOperator<AddNoiseSteps> {
 public:
  explicit AddNoiseGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    Mixture mixture;
    if (!args_(ctx, mixture)) return;
    LevelTasks& levels = steps(ctx).levels;
    gpu::MixTask task;
    task.in = mixture.signal.data;
    task.out = ctx.output_view(0).data;
    task.size = mixture.count;
    task.signal_level = levels.add(Level::kEnergy, mixture.signal, mixture.count);
    task.noise_level = levels.add(Level::kEnergy, mixture.noise, mixture.count);
    task.noise = mixture.noise.data;
    task.period = mixture.noise.period;
    task.start = mixture.noise.start;
    task.factor = mixture.factor;
    steps(ctx).mixtures.add(ctx, task);
  }

 private:
  AddNoiseArgs args_;
};

TORCHDALI_OPERATOR("add_noise")
    .doc(
        "Adds noise from a second input, scaled so that the energy of the signal over that of the "
        "noise is `snr`, as torchaudio.functional.add_noise does. Longer noise is cut to the "
        "length of the signal, shorter noise is repeated. Where either is silent, no noise is "
        "added. fn.noise.gaussian adds white noise.")
    .input("audio", "Signals; float32.", {"t", "tc"})
    .input("noise", "Noise of the same number of channels and any length; float32.", {"t", "tc"})
    .output("noisy", "Shape and layout of `audio`. A view if no noise is added.")
    .arg("snr", 10.0,
         "The ratio in decibels, of the energies of the mixed parts over all channels.",
         Arity::kPerSample)
    .arg("random_start", true,
         "The part of the noise begins at a random position; otherwise, at the first.")
    .random()
    .cpu<AddNoise>()
    .gpu<AddNoiseGpu>();

}  // namespace
}  // namespace torchdali
