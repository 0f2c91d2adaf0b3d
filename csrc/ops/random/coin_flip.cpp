// SPDX-License-Identifier: Apache-2.0
// fn.random.coin_flip: 0 or 1.
#include "core/argument.h"
#include "ops/random/distribution.h"

namespace torchdali {
namespace {

class CoinFlip final : public Operator {
 public:
  explicit CoinFlip(const OpSpec& spec)
      : output_(spec, DType::kInt32), probability_(spec, "probability") {}

  void run(SampleContext& ctx) const override {
    const float probability = probability_(ctx);
    RandomStream random = ctx.random();
    // A draw is below 1, so probability 1 is certain. Uses 32 random bits per value.
    output_.fill(ctx, [&] { return random.uniform_float() < probability; });
  }

 private:
  RandomOutput output_;
  Arg<float> probability_;
};

TORCHDALI_OPERATOR("random.coin_flip")
    .doc(
        "Draws 1 with the given probability, else 0. The same seed gives the same values with any "
        "number of threads and any prefetch depth.")
    .with(add_random_args)
    .optional_arg("dtype", ArgType::kDType, "Element type; int32 by default.")
    .arg("probability", 0.5f, "Probability of 1; 0 or less never, 1 or more always.",
         Arity::kPerSample)
    .cpu<CoinFlip>();

}  // namespace
}  // namespace torchdali
