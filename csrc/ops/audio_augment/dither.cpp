// SPDX-License-Identifier: Apache-2.0
// fn.dither: fn.noise.gaussian under the name, and with the default, of toolkits for speech.
#include "ops/noise/gaussian_noise.h"

namespace torchdali {
namespace {

struct Dither final : GaussianNoise {
  explicit Dither(const OpSpec& spec) : GaussianNoise(spec, nullptr, "amount") {}
};
struct DitherGpu final : GaussianNoiseGpu {
  explicit DitherGpu(const OpSpec& spec) : GaussianNoiseGpu(spec, nullptr, "amount") {}
};

TORCHDALI_OPERATOR("dither")
    .doc(
        "Adds a little Gaussian noise to a signal, so that the logarithm of its spectrum is finite "
        "in silence. The values are those of fn.noise.gaussian(audio, stddev=amount).")
    .input("audio", "Signals of any shape, layout and element type.")
    .output("dithered",
            "Shape, layout and element type of the input; integers are rounded and saturate.")
    .arg("amount", 1e-5f,
         "Standard deviation of the noise. The default, of NeMo, is for signals in [-1, 1]; Kaldi "
         "adds 1.0 to those in the range of int16.",
         Arity::kPerSample)
    .random()
    .audio_role(AudioRole::kSignal)
    .cpu<Dither>()
    .gpu<DitherGpu>();

}  // namespace
}  // namespace torchdali
