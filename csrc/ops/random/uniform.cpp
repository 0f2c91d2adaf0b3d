// SPDX-License-Identifier: Apache-2.0
// fn.random.uniform: values from an interval or a list.
#include "core/argument.h"
#include "ops/random/distribution.h"

namespace torchdali {
namespace {

class Uniform final : public Operator {
 public:
  explicit Uniform(const OpSpec& spec)
      : output_(spec, DType::kFloat), range_(spec, "range"), values_(spec, "values") {
    TORCHDALI_CHECK(!range_.given() || !values_.given(),
                    "`values` excludes `range`: give one or the other");
    if (values_.given() && !values_.is_tensor())
      check_values(spec.get<std::vector<double>>("values"));
    else if (!range_.is_tensor()) check_range(spec.get<std::vector<double>>("range"));
  }

  void run(SampleContext& ctx) const override {
    static thread_local std::vector<double> buffer;
    RandomStream random = ctx.random();
    if (values_.given()) {
      const auto values = values_(ctx, buffer);
      check_values(values);
      const int64_t last = static_cast<int64_t>(values.size()) - 1;
      output_.fill(ctx, [&] { return values[random.uniform_int(0, last)]; });
      return;
    }
    const auto range = range_(ctx, buffer);
    check_range(range);
    const double low = range[0], high = range[1];
    if (output_.wants_double()) {
      output_.fill(ctx, [&] {
        const double value = low + (high - low) * random.uniform_double();
        return value < high ? value : std::nextafter(high, low);  // rounding can reach `high`
      });
    } else {
      const float low_f = static_cast<float>(low), high_f = static_cast<float>(high);
      output_.fill(ctx, [&] { return random.uniform(low_f, high_f); });
    }
  }

 private:
  static void check_values(std::span<const double> values) {
    TORCHDALI_CHECK(!values.empty(), "`values` is empty");
  }
  static void check_range(std::span<const double> range) {
    TORCHDALI_CHECK(range.size() == 2, "`range` takes (low, high), got ", range.size(),
                    range.size() == 1 ? " value" : " values");
    TORCHDALI_CHECK(range[0] < range[1], "`range` is [", range[0], ", ", range[1],
                    "), which is empty");
    TORCHDALI_CHECK(std::isfinite(range[1] - range[0]), "`range` is [", range[0], ", ", range[1],
                    "), which is not finite");
  }

  RandomOutput output_;
  ListArg<double> range_, values_;
};

TORCHDALI_OPERATOR("random.uniform")
    .doc(
        "Draws uniformly from the half-open interval `range`, or from the list `values`. Integers "
        "are rounded, so they may equal the upper bound. The same seed "
        "gives the same values with any number of threads and any prefetch depth.")
    .with(add_random_args)
    .optional_arg("dtype", ArgType::kDType, "Element type; float32 by default.")
    .arg("range", std::vector<float>{-1.0f, 1.0f}, "The interval [low, high).", Arity::kPerSample)
    .optional_arg("values", ArgType::kFloatVec,
                  "The list to draw from. Cannot be combined with `range`.", Arity::kPerSample)
    .cpu<Uniform>();

}  // namespace
}  // namespace torchdali
