// SPDX-License-Identifier: Apache-2.0
// fn.random.normal: values of a normal distribution.
#include "core/argument.h"
#include "ops/random/distribution.h"

namespace torchdali {
namespace {

class Normal final : public Operator {
 public:
  explicit Normal(const OpSpec& spec)
      : output_(spec, DType::kFloat), mean_(spec, "mean"), stddev_(spec, "stddev") {}

  void run(SampleContext& ctx) const override {
    const float mean = mean_(ctx), stddev = stddev_(ctx);
    RandomStream random = ctx.random();
    if (output_.wants_double())
      output_.fill(ctx, [&] { return mean + stddev * standard_normal(random); });
    else output_.fill(ctx, [&] { return mean + stddev * random.normal(); });
  }

 private:
  RandomOutput output_;
  Arg<float> mean_, stddev_;
};

TORCHDALI_OPERATOR("random.normal")
    .doc(
        "Draws from a normal distribution. The same seed gives the same values with any number of "
        "threads and any prefetch depth. Integers are rounded and saturate.")
    .with(add_random_args)
    .optional_arg("dtype", ArgType::kDType, "Element type; float32 by default.")
    .arg("mean", 0.0f, "Mean of the distribution.", Arity::kPerSample)
    .arg("stddev", 1.0f, "Standard deviation of the distribution.", Arity::kPerSample)
    .cpu<Normal>();

}  // namespace
}  // namespace torchdali
