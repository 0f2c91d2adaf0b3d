// SPDX-License-Identifier: Apache-2.0
// fn.reductions.*: sums, means and extremes along axes. The loops are in kernels/math/reduce.h;
// this file has the results of the sums.
#include <cmath>

#include "core/operator.h"
#include "kernels/convert.h"
#include "kernels/math/reduce.h"
#include "kernels/math/reduce_finish.h"
#include "ops/math/reduced_axes.h"
#include "ops/math/reduction_tasks.h"

namespace torchdali {
namespace {

using kernels::Finish;
using kernels::Reduction;

// The common part: axes and shape of the output. Base: the base class for the CPU or the GPU.
template <class Base>
class Reducer : public Base {
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

 private:
  ReducedAxes axes_;
  bool keep_dims_;
};

void reduce(SampleContext& ctx, Reduction reduction, kernels::AxisMask axes, int64_t results,
            void* acc, const double* mean = nullptr) {
  const SampleView& in = ctx.input(0);
  kernels::begin_reduce(reduction, in.dtype, acc, results);
  kernels::reduce({.reduction = reduction,
                   .dtype = in.dtype,
                   .in = in.data,
                   .shape = in.shape,
                   .axes = axes,
                   .mean = mean,
                   .accumulators = acc});
}

gpu::FoldTask make_fold(const SampleView& out, Reduction reduction, gpu::ReduceResult result) {
  gpu::FoldTask fold;
  fold.reduction = reduction;
  fold.result = result;
  fold.out = out.data;
  fold.out_dtype = out.dtype;
  return fold;
}

template <Reduction kReduction>
class Extreme final : public Reducer<Operator> {
 public:
  using Reducer::Reducer;
  void run(SampleContext& ctx) const override {
    const DType dtype = ctx.input(0).dtype;
    const Result result = make_output(ctx, dtype);
    reduce(ctx, kReduction, result.axes, result.counts.results, result.out.data);
    if (result.counts.values == 0) finite_limits(result);
  }

 private:
  static void finite_limits(const Result& result) {
    dispatch_dtype(result.out.dtype, [&]<class T>() {
      std::fill_n(result.out.as<T>(), result.counts.results,
                  kernels::limit_of_nothing<T>(kReduction == Reduction::kMin));
    });
  }
};

template <Reduction kReduction>
class ExtremeGpu final : public Reducer<gpu::ReductionOperator> {
 public:
  using Reducer::Reducer;
  void run(SampleContext& ctx) const override {
    const DType dtype = ctx.input(0).dtype;
    const Result result = make_output(ctx, dtype);
    add(ctx, result.axes, make_fold(result.out, kReduction, gpu::ReduceResult::kElement));
  }
};

template <Finish kFinish, class Base>
class Summer : public Reducer<Base> {
 public:
  explicit Summer(const OpSpec& spec) : Reducer<Base>(spec) {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
  }

 protected:
  auto make_sums(SampleContext& ctx) const {
    return this->make_output(ctx,
                             dtype_ != DType::kNone ? dtype_ : default_dtype(ctx.input(0).dtype));
  }

 private:
  static DType default_dtype(DType in) {
    if (kFinish != Finish::kSum) return in == DType::kFloat64 ? in : DType::kFloat;
    return is_floating(in) ? in : kernels::accumulator_dtype(Reduction::kSum, in);
  }
  DType dtype_ = DType::kNone;
};

template <Reduction kReduction, Finish kFinish>
class Sum final : public Summer<kFinish, Operator> {
 public:
  using Summer<kFinish, Operator>::Summer;
  void run(SampleContext& ctx) const override {
    const DType acc_dtype = kernels::accumulator_dtype(kReduction, ctx.input(0).dtype);
    const auto result = this->make_sums(ctx);
    const size_t count = static_cast<size_t>(result.counts.results);
    void* acc = ctx.scratch<uint64_t>(count).data();
    reduce(ctx, kReduction, result.axes, result.counts.results, acc);
    const auto finish = [&]<class Acc>(const Acc* sums) {
      dispatch_dtype(result.out.dtype, [&]<class Out>() {
        Out* out = static_cast<Out*>(result.out.data);
        for (size_t i = 0; i < count; ++i)
          out[i] = kernels::finished<kFinish, Out>(sums[i], result.counts.values);
      });
    };
    if (acc_dtype == DType::kUInt64) finish(static_cast<const uint64_t*>(acc));
    else if (acc_dtype == DType::kInt64) finish(static_cast<const int64_t*>(acc));
    else finish(static_cast<const double*>(acc));
  }
};

template <Reduction kReduction, Finish kFinish>
class SumGpu final : public Summer<kFinish, gpu::ReductionOperator> {
 public:
  using Summer<kFinish, gpu::ReductionOperator>::Summer;
  void run(SampleContext& ctx) const override {
    const auto result = this->make_sums(ctx);
    constexpr auto kResult = kFinish == Finish::kSum    ? gpu::ReduceResult::kSum
                             : kFinish == Finish::kMean ? gpu::ReduceResult::kMean
                                                        : gpu::ReduceResult::kRoot;
    this->add(ctx, result.axes, make_fold(result.out, kReduction, kResult));
  }
};

// Reductions with a given mean.
template <class Base>
class Spread : public Reducer<Base> {
 public:
  explicit Spread(const OpSpec& spec) : Reducer<Base>(spec), ddof_(spec.get<int>("ddof")) {}

 protected:
  auto make_spread(SampleContext& ctx) const {
    const SampleView &in = ctx.input(0), &mean = ctx.input(1);
    const auto result =
        this->make_output(ctx, in.dtype == DType::kFloat64 ? in.dtype : DType::kFloat);
    TORCHDALI_CHECK(mean.volume() == 1 || mean.volume() == result.counts.results,
                    "input `mean` has shape ", mean.shape, ", expected one value, or ",
                    result.counts.results, " (the output's shape is ", result.out.shape, ")",
                    to_fix("pass fn.reductions.mean() of the same axes"));
    return result;
  }
  const int ddof_;
};

template <bool kRoot>
class Variance final : public Spread<Operator> {
 public:
  using Spread::Spread;
  void run(SampleContext& ctx) const override {
    const SampleView& mean = ctx.input(1);
    const Result result = make_spread(ctx);
    const size_t count = static_cast<size_t>(result.counts.results);
    const auto means = ctx.scratch<double>(count), sums = ctx.scratch<double>(count);
    dispatch_dtype(mean.dtype, [&]<class T>() {
      const T* from = mean.as<const T>();
      for (size_t i = 0; i < count; ++i)
        means[i] = static_cast<double>(from[mean.volume() == 1 ? 0 : i]);
    });
    reduce(ctx, Reduction::kSumOfSquaredDeviations, result.axes, result.counts.results, sums.data(),
           means.data());
    const double divisor = static_cast<double>(result.counts.values) - ddof_;
    for (size_t i = 0; i < count; ++i) {
      double value = sums[i] / divisor;
      if (kRoot) value = std::sqrt(value);
      if (result.out.dtype == DType::kFloat64) result.out.as<double>()[i] = value;
      else result.out.as<float>()[i] = static_cast<float>(value);
    }
  }
};

template <bool kRoot>
class VarianceGpu final : public Spread<gpu::ReductionOperator> {
 public:
  using Spread::Spread;
  void run(SampleContext& ctx) const override {
    const SampleView& mean = ctx.input(1);
    const Result result = make_spread(ctx);
    auto fold = make_fold(result.out, Reduction::kSumOfSquaredDeviations,
                          kRoot ? gpu::ReduceResult::kDeviation : gpu::ReduceResult::kVariance);
    fold.ddof = ddof_;
    add(ctx, result.axes, fold,
        {.data = mean.data, .dtype = mean.dtype, .step = mean.volume() == 1 ? 0 : 1});
  }
};

constexpr const char* kData = "Samples; any element type, any layout.";

SchemaBuilder& add_reduction_args(SchemaBuilder& schema) {
  return schema
      .output("reduced",
              "The axes that are left, with their letters of the layout; no dimensions if none "
              "is.")
      .with(reduced_axes_args("to reduce; all by default, none for an empty list"))
      .arg("keep_dims", false, "Keep the reduced axes, with extent 1.");
}

SchemaBuilder& add_mean_args(SchemaBuilder& schema) {
  return schema.input("data", kData)
      .with(add_reduction_args)
      .optional_arg("dtype", ArgType::kDType,
                    "Element type of the output; float32 by default, float64 for float64. Results "
                    "for integers are truncated.");
}

SchemaBuilder& add_variance_args(SchemaBuilder& schema) {
  return schema.input("data", kData)
      .input("mean",
             "The mean: one value, or one for each result in C order, as returned by "
             "fn.reductions.mean() of the same axes.")
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
    .cpu<Sum<Reduction::kSum, Finish::kSum>>()
    .gpu<SumGpu<Reduction::kSum, Finish::kSum>>();

TORCHDALI_OPERATOR("reductions.mean")
    .doc("The mean of the elements along axes; NaN if there are none.")
    .with(add_mean_args)
    .cpu<Sum<Reduction::kMean, Finish::kMean>>()
    .gpu<SumGpu<Reduction::kMean, Finish::kMean>>();

TORCHDALI_OPERATOR("reductions.mean_square")
    .doc("The mean of the squares of the elements along axes; NaN if there are none.")
    .with(add_mean_args)
    .cpu<Sum<Reduction::kSumOfSquares, Finish::kMean>>()
    .gpu<SumGpu<Reduction::kSumOfSquares, Finish::kMean>>();

TORCHDALI_OPERATOR("reductions.rms")
    .doc("The root of the mean of the squares along axes; NaN if there are no elements.")
    .with(add_mean_args)
    .cpu<Sum<Reduction::kSumOfSquares, Finish::kRoot>>()
    .gpu<SumGpu<Reduction::kSumOfSquares, Finish::kRoot>>();

TORCHDALI_OPERATOR("reductions.min")
    .doc(
        "The least element along axes, of the input's element type. NaN is ignored; without "
        "elements, it is the greatest finite number of the type.")
    .input("data", kData)
    .with(add_reduction_args)
    .cpu<Extreme<Reduction::kMin>>()
    .gpu<ExtremeGpu<Reduction::kMin>>();

TORCHDALI_OPERATOR("reductions.max")
    .doc(
        "The greatest element along axes, of the input's element type. NaN is ignored; without "
        "elements, it is the least finite number of the type.")
    .input("data", kData)
    .with(add_reduction_args)
    .cpu<Extreme<Reduction::kMax>>()
    .gpu<ExtremeGpu<Reduction::kMax>>();

TORCHDALI_OPERATOR("reductions.variance")
    .doc(
        "The mean squared distance of the elements along axes from a given mean, float32 (float64 "
        "for float64). NaN if there are no elements.")
    .with(add_variance_args)
    .cpu<Variance<false>>()
    .gpu<VarianceGpu<false>>();

TORCHDALI_OPERATOR("reductions.std_dev")
    .doc(
        "The root of the mean squared distance of the elements along axes from a given mean, "
        "float32 (float64 for float64). NaN if there are no elements.")
    .with(add_variance_args)
    .cpu<Variance<true>>()
    .gpu<VarianceGpu<true>>();

}  // namespace
}  // namespace torchdali
