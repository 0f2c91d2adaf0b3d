// SPDX-License-Identifier: Apache-2.0
// fn.noise.gaussian: adds values of a normal distribution.
#include "ops/noise/gaussian_noise.h"

namespace torchdali {
namespace {

struct Gaussian final : GaussianNoise {
  explicit Gaussian(const OpSpec& spec) : GaussianNoise(spec, "mean", "stddev") {}
};
struct GaussianGpu final : GaussianNoiseGpu {
  explicit GaussianGpu(const OpSpec& spec) : GaussianNoiseGpu(spec, "mean", "stddev") {}
};

TORCHDALI_OPERATOR("noise.gaussian")
    .doc(
        "Adds a value of a normal distribution to each element. The same seed gives the "
        "same values with any number of threads and any prefetch depth.")
    .input("data", "Any shape, layout and element type.")
    .output("noisy",
            "Shape, layout and element type of the input; integers are rounded and saturate.")
    .arg("mean", 0.0f, "Mean of the noise, in units of the data.", Arity::kPerSample)
    .arg("stddev", 1.0f, "Standard deviation of the noise, in units of the data.",
         Arity::kPerSample)
    .random()
    .audio_role(AudioRole::kSignal)
    .cpu<Gaussian>()
    .gpu<GaussianGpu>();

}  // namespace
}  // namespace torchdali
