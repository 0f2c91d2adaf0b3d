// SPDX-License-Identifier: Apache-2.0
// fn.random.normal: values of a normal distribution.
#include "core/argument.h"
#include "kernels/noise/random_block.h"
#include "kernels/noise/random_scalar.h"
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
    if (output_.wants_double()) {
      output_.fill(ctx, [&] { return mean + stddev * standard_normal(random); });
      return;
    }
    output_.fill_blocks<float>(ctx, [&](float* values, int64_t first, int64_t n) {
      draw(random, values, static_cast<uint64_t>(first), n);
      for (int64_t k = 0; k < n; ++k) values[k] = mean + stddev * values[k];
    });
  }

 private:
  // The values of fn.noise.gaussian.
  static void draw(const RandomStream& random, float* values, uint64_t first, int64_t n) {
    constexpr int64_t kFew = 16;
    if (n <= kFew) {
      for (int64_t k = 0; k < n; ++k)
        values[k] =
            kernels::normal_at(random.seed(), random.sample(), first + static_cast<uint64_t>(k));
      return;
    }
    static_assert(RandomOutput::kBlock % kernels::kRandomBlock == 0);
    for (int64_t k = 0; k < n; k += kernels::kRandomBlock)
      kernels::random_normals(values + k, random.seed(), random.sample(),
                              (first + static_cast<uint64_t>(k)) / kernels::kRandomBlock);
  }

  RandomOutput output_;
  Arg<float> mean_, stddev_;
};

TORCHDALI_OPERATOR("random.normal")
    .doc(
        "Draws from a normal distribution. The same seed gives the same values with any number of "
        "threads and any prefetch depth, and those that fn.noise.gaussian adds. Integers are "
        "rounded and saturate.")
    .with(add_random_args)
    .optional_arg("dtype", ArgType::kDType, "Element type; float32 by default.")
    .arg("mean", 0.0f, "Mean of the distribution.", Arity::kPerSample)
    .arg("stddev", 1.0f, "Standard deviation of the distribution.", Arity::kPerSample)
    .cpu<Normal>();

}  // namespace
}  // namespace torchdali
