// SPDX-License-Identifier: Apache-2.0
// fn.reductions.*: sums, means and extremes along axes. The loops are in kernels/reduce.h; here is
// what becomes of the sums.
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/operator.h"
#include "kernels/convert.h"
#include "kernels/reduce.h"
#include "ops/reduced_axes.h"

namespace torchdali {
namespace {

using kernels::Reduction;

// What all of them do: the axes, the output's shape, the accumulators.
class Reducer : public Operator {
 public:
  explicit Reducer(const OpSpec& spec) : axes_(spec), keep_dims_(spec.get<bool>("keep_dims")) {}

 protected:
  struct Result {
    kernels::AxisMask axes;
    ReducedCounts counts;
    SampleView& out;
  };
  Result make_output(SampleContext& ctx, DType dtype) const {
    const SampleView& in = ctx.input(0);
    const kernels::AxisMask axes = axes_(in);
    Shape shape;
    std::string layout;
    for (int i = 0; i < in.shape.ndim(); ++i) {
      if (is_reduced(axes, i) && !keep_dims_) continue;
      shape.push_back(is_reduced(axes, i) ? 1 : in.shape[i]);
      if (!in.layout.empty()) layout += in.layout[i];
    }
    SampleView& out = ctx.output(0, dtype, shape, Layout(layout));
    return {axes, ReducedCounts(in.shape, axes), out};
  }
  static void reduce(SampleContext& ctx, Reduction reduction, const Result& result, void* acc,
                     const double* mean = nullptr) {
    const SampleView& in = ctx.input(0);
    kernels::begin_reduce(reduction, in.dtype, acc, result.counts.results);
    kernels::reduce({.reduction = reduction,
                     .dtype = in.dtype,
                     .in = in.data,
                     .shape = in.shape,
                     .axes = result.axes,
                     .mean = mean,
                     .accumulators = acc});
  }

 private:
  ReducedAxes axes_;
  bool keep_dims_;
};

template <Reduction kReduction>
class Extreme final : public Reducer {
 public:
  using Reducer::Reducer;
  void run(SampleContext& ctx) const override {
    const DType dtype = ctx.input(0).dtype;
    const Result result = make_output(ctx, dtype);
    reduce(ctx, kReduction, result, result.out.data);
    if (result.counts.values == 0) finite_limits(result);
  }

 private:
  // As DALI has it for floats too: the limit of nothing is the greatest finite number.
  static void finite_limits(const Result& result) {
    dispatch_dtype(result.out.dtype, [&]<class T>() {
      if constexpr (is_floating_type<T>) {
        constexpr double kHalfMax = 65504;
        const double limit = std::is_same_v<T, Half>    ? kHalfMax
                             : std::is_same_v<T, float> ? std::numeric_limits<float>::max()
                                                        : std::numeric_limits<double>::max();
        const double value = kReduction == Reduction::kMin ? limit : -limit;
        for (int64_t i = 0; i < result.counts.results; ++i)
          result.out.as<T>()[i] = kernels::convert<T>(value);
      }
    });
  }
};

enum class Finish { kSum, kMean, kRoot };

template <Reduction kReduction, Finish kFinish>
class Sum final : public Reducer {
 public:
  explicit Sum(const OpSpec& spec) : Reducer(spec) {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
  }
  void run(SampleContext& ctx) const override {
    const DType in = ctx.input(0).dtype, acc_dtype = kernels::accumulator_dtype(kReduction, in);
    const Result result = make_output(ctx, dtype_ != DType::kNone ? dtype_ : default_dtype(in));
    const size_t count = static_cast<size_t>(result.counts.results);
    void* acc = ctx.scratch<uint64_t>(count).data();
    reduce(ctx, kReduction, result, acc);
    const auto finish = [&]<class Acc>(const Acc* sums) {
      dispatch_dtype(result.out.dtype, [&]<class Out>() {
        Out* out = result.out.as<Out>();
        for (size_t i = 0; i < count; ++i) out[i] = finished<Out>(sums[i], result.counts.values);
      });
    };
    if (acc_dtype == DType::kUInt64) finish(static_cast<const uint64_t*>(acc));
    else if (acc_dtype == DType::kInt64) finish(static_cast<const int64_t*>(acc));
    else finish(static_cast<const double*>(acc));
  }

 private:
  static DType default_dtype(DType in) {
    if (kFinish != Finish::kSum) return in == DType::kFloat64 ? in : DType::kFloat;
    return is_floating(in) ? in : kernels::accumulator_dtype(Reduction::kSum, in);
  }
  // Integers: sums modulo 2^bits, means cut off.
  template <class Out, class Acc>
  static Out finished(Acc sum, int64_t values) {
    constexpr bool kExact =
        std::is_integral_v<Out> && !std::is_same_v<Out, bool> && std::is_integral_v<Acc>;
    if constexpr (kExact && kFinish == Finish::kSum) {
      return static_cast<Out>(sum);
    } else if constexpr (kExact && kFinish == Finish::kMean) {
      return values == 0 ? Out(0) : kernels::convert<Out>(static_cast<Acc>(sum / Acc(values)));
    } else {
      double value = static_cast<double>(sum);
      if (kFinish != Finish::kSum) value /= static_cast<double>(values);
      if (kFinish == Finish::kRoot) value = std::sqrt(value);
      if constexpr (std::is_integral_v<Out> && !std::is_same_v<Out, bool>)
        return kernels::truncate_saturating<Out>(value);
      else return kernels::convert<Out>(value);
    }
  }
  DType dtype_ = DType::kNone;
};

template <bool kRoot>
class Variance final : public Reducer {
 public:
  explicit Variance(const OpSpec& spec) : Reducer(spec), ddof_(spec.get<int>("ddof")) {}
  void run(SampleContext& ctx) const override {
    const SampleView &in = ctx.input(0), &mean = ctx.input(1);
    const DType dtype = in.dtype == DType::kFloat64 ? in.dtype : DType::kFloat;
    const Result result = make_output(ctx, dtype);
    const size_t count = static_cast<size_t>(result.counts.results);
    TORCHDALI_CHECK(mean.volume() == 1 || mean.volume() == result.counts.results,
                    "input `mean` has shape ", mean.shape, ", expected one value, or ",
                    result.counts.results, " (the output's shape is ", result.out.shape,
                    "). To fix it: pass fn.reductions.mean() of the same axes");
    const auto means = ctx.scratch<double>(count), sums = ctx.scratch<double>(count);
    dispatch_dtype(mean.dtype, [&]<class T>() {
      const T* from = mean.as<const T>();
      for (size_t i = 0; i < count; ++i)
        means[i] = static_cast<double>(from[mean.volume() == 1 ? 0 : i]);
    });
    reduce(ctx, Reduction::kSumOfSquaredDeviations, result, sums.data(), means.data());
    const double divisor = static_cast<double>(result.counts.values) - ddof_;
    for (size_t i = 0; i < count; ++i) {
      double value = sums[i] / divisor;
      if (kRoot) value = std::sqrt(value);
      if (dtype == DType::kFloat64) result.out.as<double>()[i] = value;
      else result.out.as<float>()[i] = static_cast<float>(value);
    }
  }

 private:
  int ddof_;
};

constexpr const char* kData = "Samples; any element type, any layout.";

SchemaBuilder& add_reduction_args(SchemaBuilder& schema) {
  return schema
      .output("reduced",
              "The axes that are left, with their letters of the layout; no dimensions where none "
              "is.")
      .with(reduced_axes_args("to reduce; all by default, none for an empty list"))
      .arg("keep_dims", false, "Keep the reduced axes, with extent 1.");
}

SchemaBuilder& add_mean_args(SchemaBuilder& schema) {
  return schema.input("data", kData)
      .with(add_reduction_args)
      .optional_arg("dtype", ArgType::kDType,
                    "Element type of the output; float32 by default, float64 for float64. Results "
                    "for integers are cut off.");
}

SchemaBuilder& add_variance_args(SchemaBuilder& schema) {
  return schema.input("data", kData)
      .input("mean",
             "The mean: one value, or one for each result in C order, as fn.reductions.mean() of "
             "the same axes gives them.")
      .with(add_reduction_args)
      .arg("ddof", 0, "Delta degrees of freedom: the sum is divided by N - ddof.");
}

TORCHDALI_OPERATOR("reductions.sum")
    .doc(
        "The sum of the elements along axes. Integers are added exactly, modulo 2^64; floats in "
        "float64.")
    .input("data", kData)
    .with(add_reduction_args)
    .optional_arg("dtype", ArgType::kDType,
                  "Element type of the output. By default the 64-bit integer of the input's "
                  "signedness, or the input's type for floats. Sums of integers that do not fit "
                  "into an integer type wrap around.")
    .cpu<Sum<Reduction::kSum, Finish::kSum>>();

TORCHDALI_OPERATOR("reductions.mean")
    .doc("The mean of the elements along axes; NaN where there are none.")
    .with(add_mean_args)
    .cpu<Sum<Reduction::kMean, Finish::kMean>>();

TORCHDALI_OPERATOR("reductions.mean_square")
    .doc("The mean of the squares of the elements along axes; NaN where there are none.")
    .with(add_mean_args)
    .cpu<Sum<Reduction::kSumOfSquares, Finish::kMean>>();

TORCHDALI_OPERATOR("reductions.rms")
    .doc("The root of the mean of the squares along axes; NaN where there are no elements.")
    .with(add_mean_args)
    .cpu<Sum<Reduction::kSumOfSquares, Finish::kRoot>>();

TORCHDALI_OPERATOR("reductions.min")
    .doc(
        "The least element along axes, of the input's element type. NaN is passed over; of no "
        "elements it is the greatest finite number of the type.")
    .input("data", kData)
    .with(add_reduction_args)
    .cpu<Extreme<Reduction::kMin>>();

TORCHDALI_OPERATOR("reductions.max")
    .doc(
        "The greatest element along axes, of the input's element type. NaN is passed over; of no "
        "elements it is the least finite number of the type.")
    .input("data", kData)
    .with(add_reduction_args)
    .cpu<Extreme<Reduction::kMax>>();

TORCHDALI_OPERATOR("reductions.variance")
    .doc(
        "The mean squared distance of the elements along axes from a given mean, float32 (float64 "
        "for float64). NaN where there are no elements.")
    .with(add_variance_args)
    .cpu<Variance<false>>();

TORCHDALI_OPERATOR("reductions.std_dev")
    .doc(
        "The root of the mean squared distance of the elements along axes from a given mean, "
        "float32 (float64 for float64). NaN where there are no elements.")
    .with(add_variance_args)
    .cpu<Variance<true>>();

}  // namespace
}  // namespace torchdali
