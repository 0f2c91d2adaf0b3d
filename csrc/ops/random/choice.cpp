// SPDX-License-Identifier: Apache-2.0
// fn.random.choice: elements of a list, or numbers below a bound, drawn with replacement.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/argument.h"
#include "ops/random/distribution.h"

namespace torchdali {
namespace {

class Choice final : public Operator {
 public:
  explicit Choice(const OpSpec& spec)
      : shape_(spec, "shape"), p_(spec, "p"), given_shape_(shape_.given()) {
    TORCHDALI_CHECK(!given_shape_ || spec.num_inputs < 2,
                    "`shape` excludes the input `shape_like`: give one or the other");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& a = ctx.input(0);
    const bool is_bound = a.shape.ndim() == 0;
    const int64_t count = is_bound ? bound(a) : a.shape[0];
    TORCHDALI_CHECK(count > 0, is_bound ? "input `a` is " : "input `a` has extent ", count,
                    ", expected 1 or more to choose from");
    Shape shape;
    if (ctx.num_inputs() > 1) shape = ctx.input(1).shape;
    else if (given_shape_) shape = drawn_shape(shape_, ctx);
    const int64_t draws = shape.volume();
    // Elements may have dimensions.
    Shape whole = shape;
    int64_t element = 1;
    for (int i = 1; i < a.shape.ndim(); ++i) {
      whole.push_back(a.shape[i]);
      element *= a.shape[i];
    }
    // The draws take the place of the first axis.
    Layout layout;
    if (!a.layout.empty() && shape.ndim() == 1) layout = a.layout;
    else if (!a.layout.empty() && shape.ndim() == 0) layout = Layout(a.layout.str().substr(1));
    const SampleView& out = ctx.output(0, a.dtype, whole, layout);
    const std::span<const double> sums = cumulative(ctx, count);
    if (out.volume() == 0) return;  // there may be many draws of empty elements
    RandomStream random = ctx.random();
    const size_t bytes = static_cast<size_t>(element * itemsize(a.dtype));
    for (int64_t i = 0; i < draws; ++i) {
      const int64_t index = sums.empty() ? random.uniform_int(0, count - 1) : draw(sums, random);
      if (is_bound) write(out, i, index);
      else
        std::memcpy(out.as<char>() + static_cast<size_t>(i) * bytes,
                    a.as<const char>() + static_cast<size_t>(index) * bytes, bytes);
    }
  }

 private:
  static int64_t bound(const SampleView& a) {
    TORCHDALI_CHECK_KIND(kType, !is_floating(a.dtype) && a.dtype != DType::kBool, "input `a` is ",
                         "a single ", dtype_name(a.dtype), ", expected an integer, or a list");
    return dispatch_dtype(a.dtype,
                          [&]<class T>() { return kernels::convert<int64_t>(*a.as<const T>()); });
  }
  static void write(const SampleView& out, int64_t at, int64_t value) {
    dispatch_dtype(out.dtype, [&]<class T>() { out.as<T>()[at] = kernels::convert<T>(value); });
  }
  // Cumulative sums of `p`; empty if all elements are equally likely.
  std::span<const double> cumulative(SampleContext& ctx, int64_t count) const {
    if (!p_.given()) return {};
    static thread_local std::vector<float> buffer;
    const auto p = p_(ctx, buffer);
    TORCHDALI_CHECK(static_cast<int64_t>(p.size()) == count, "`p` has ", p.size(),
                    p.size() == 1 ? " value" : " values", ", expected one for each of the ", count,
                    " elements");
    const auto sums = ctx.scratch<double>(p.size());
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      TORCHDALI_CHECK(p[i] >= 0 && p[i] <= 1, "`p` has ", p[i], ", expected 0 to 1");
      sums[i] = sum += p[i];
    }
    constexpr double kRounding = 1e-4;  // of float32 probabilities
    TORCHDALI_CHECK(std::abs(sum - 1) <= kRounding * std::max(1.0, std::sqrt(double(count))),
                    "`p` adds up to ", sum, ", expected 1");
    return sums;
  }
  static int64_t draw(std::span<const double> sums, RandomStream& random) {
    const double at = random.uniform_double() * sums.back();
    auto found = std::upper_bound(sums.begin(), sums.end(), at);
    // Rounding can reach the end. Then the last element with a probability above 0 is drawn.
    if (found == sums.end()) found = std::lower_bound(sums.begin(), sums.end(), sums.back());
    return found - sums.begin();
  }

  ListArg<int64_t> shape_;
  ListArg<float> p_;
  bool given_shape_;
};

TORCHDALI_OPERATOR("random.choice")
    .doc(
        "Draws elements of a list with replacement, uniformly or with the probabilities `p`. The "
        "same seed gives the same choices with any number of threads and "
        "any prefetch depth.")
    .input("a",
           "The elements to choose from: a list (the first axis of a tensor of any element type), "
           "or an integer n for 0 to n - 1.")
    .optional_input("shape_like", "Input with the shape of the draws; its values are not used.")
    .output("chosen",
            "The chosen elements, of the type of `a`: shape `shape`, followed by the other axes "
            "of `a`. With one axis of draws the layout is that of `a`, without draws that of an "
            "element, otherwise there is none.")
    .optional_arg("p", ArgType::kFloatVec,
                  "Probability of each element; the sum is 1. Uniform by default.",
                  Arity::kPerSample)
    .optional_arg("shape", ArgType::kIntVec,
                  "Shape of the draws. Cannot be combined with `shape_like`. Without either, a "
                  "sample is one element.",
                  Arity::kPerSample)
    .random()
    .cpu<Choice>();

}  // namespace
}  // namespace torchdali
