// SPDX-License-Identifier: Apache-2.0
// fn.random.beta: values of a beta distribution.
#include <algorithm>

#include "core/argument.h"
#include "ops/random/distribution.h"

namespace torchdali {
namespace {

// The logarithm of a draw from a gamma distribution with scale 1, so that small shapes do not
// underflow to 0. Source: Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables",
// ACM TOMS 26, 2000; for shapes below 1 a draw of shape + 1 times U^(1 / shape).
class LogGamma {
 public:
  explicit LogGamma(double shape) : shape_(shape) {
    d_ = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
    c_ = 1 / std::sqrt(9 * d_);
  }
  double operator()(RandomStream& random) const {
    const double boost = shape_ < 1 ? std::log(1 - random.uniform_double()) / shape_ : 0.0;
    for (;;) {
      const double x = standard_normal(random);
      const double root = 1 + c_ * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      const double u = 1 - random.uniform_double();  // (0, 1]
      if (std::log(u) < 0.5 * x * x + d_ * (1 - v + std::log(v))) return std::log(d_ * v) + boost;
    }
  }

 private:
  double shape_, d_, c_;
};

class Beta final : public Operator {
 public:
  explicit Beta(const OpSpec& spec)
      : output_(spec, DType::kFloat), alpha_(spec, "alpha"), beta_(spec, "beta") {
    TORCHDALI_CHECK_KIND(kType, is_floating(output_.dtype()), "`dtype` is ",
                         dtype_name(output_.dtype()), ", expected float16, float32 or float64");
  }

  void run(SampleContext& ctx) const override {
    const LogGamma first(parameter(alpha_(ctx), "alpha")), second(parameter(beta_(ctx), "beta"));
    RandomStream random = ctx.random();
    // X / (X + Y) of two gamma draws.
    output_.fill(ctx, [&] {
      const double x = first(random);
      const double y = second(random);
      return 1 / (1 + std::exp(y - x));
    });
  }

 private:
  static double parameter(float value, const char* name) {
    TORCHDALI_CHECK(value > 0 && std::isfinite(value), "`", name, "` is ", value,
                    ", expected a number above 0");
    return value;
  }

  RandomOutput output_;
  Arg<float> alpha_, beta_;
};

TORCHDALI_OPERATOR("random.beta")
    .doc(
        "Draws from the beta distribution, whose density is proportional to x^(alpha - 1) (1 - "
        "x)^(beta - 1) on [0, 1]; by default the uniform distribution. The same seed gives the "
        "same values with any number of threads and any prefetch depth.")
    .with(add_random_args)
    .optional_arg("dtype", ArgType::kDType, "Element type: float32 by default, float64 or float16.")
    .arg("alpha", 1.0f, "First parameter, above 0.", Arity::kPerSample)
    .arg("beta", 1.0f, "Second parameter, above 0.", Arity::kPerSample)
    .cpu<Beta>();

}  // namespace
}  // namespace torchdali
