// SPDX-License-Identifier: Apache-2.0
// fn.normalize: subtracts a mean and divides by a standard deviation, given or computed along axes
// of the sample or of the whole batch. The loops are in kernels/math/reduce.h and
// kernels/math/standardize.h.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"
#include "kernels/math/reduce.h"
#include "kernels/math/reduce_finish.h"
#include "kernels/math/standardize.h"
#include "kernels/math/standardize_gpu.h"
#include "ops/math/moments.h"
#include "ops/math/reduced_axes.h"
#include "ops/math/reduction_tasks.h"

namespace torchdali {
namespace {

// `mean` or `stddev`: a number, a tensor per sample, or not given.
struct Parameter {
  const char* name;
  bool computed = false;
  float constant = 0;
  int slot = -1;

  Parameter(const OpSpec& spec, const char* argument) : name(argument) {
    const auto found = spec.tensors.find(argument);
    if (found != spec.tensors.end()) slot = found->second;
    else if (spec.has(argument)) constant = spec.get<float>(argument);
    else computed = true;
  }
  bool is_tensor() const { return slot >= 0; }
  bool is_constant() const { return !computed && slot < 0; }
};

struct BatchMoments : BatchState {
  std::vector<float> mean, factor;
};

// The arguments, and everything that follows from them without the data.
class NormalizeArgs {
 public:
  explicit NormalizeArgs(const OpSpec& spec)
      : axes_(spec),
        mean_(spec, "mean"),
        stddev_(spec, "stddev"),
        batch_(spec.get<bool>("batch")),
        dtype_(spec.get<DType>("dtype")),
        ddof_(spec.get<int>("ddof")),
        epsilon_(spec.get<float>("epsilon")),
        scale_(spec.get<float>("scale")),
        shift_(spec.get<float>("shift")) {
    TORCHDALI_CHECK(!axes_.no_indices(), "`axes` is an empty list, expected at least one axis");
    TORCHDALI_CHECK(!batch_ || (!mean_.is_tensor() && !stddev_.is_tensor()),
                    "`batch` excludes tensors for `mean` and `stddev`: give numbers, or leave them "
                    "out");
    TORCHDALI_CHECK(
        !axes_.given() || !mean_.is_constant() || !stddev_.is_constant(),
        "`axes` and `axis_names` have no meaning where `mean` and `stddev` are numbers");
  }

 protected:
  // Whether mean or deviation are computed over the whole batch.
  bool batch_wide() const { return batch_ && (mean_.computed || stddev_.computed); }
  float factor_of(float stddev) const {
    return scale_ / (epsilon_ == 0 ? stddev : std::sqrt(stddev * stddev + epsilon_));
  }

  // The same for a value of a tensor: a standard deviation of 0 gives a factor of 0.
  float factor_of_tensor(float stddev) const {
    return stddev == 0 && epsilon_ == 0 ? 0 : factor_of(stddev);
  }

  // The given axes, else those along which the tensors have extent 1, else all.
  kernels::AxisMask axes_of(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    if (mean_.is_constant() && stddev_.is_constant()) return ReducedAxes::all_axes(in.shape.ndim());
    kernels::AxisMask axes = axes_(in);
    bool known = axes_.given();
    for (const Parameter* parameter : {&mean_, &stddev_}) {
      if (!parameter->is_tensor()) continue;
      const SampleView& value = ctx.argument_input(parameter->slot);
      if (value.volume() == 1) continue;
      const bool same_ndim = value.shape.ndim() == in.shape.ndim();
      if (!known && same_ndim) {
        axes = 0;
        for (int i = 0; i < in.shape.ndim(); ++i)
          if (value.shape[i] == 1) axes |= kernels::AxisMask{1} << i;
        known = true;
      }
      Shape expected = in.shape;
      for (int i = 0; i < in.shape.ndim(); ++i)
        if (is_reduced(axes, i)) expected[i] = 1;
      TORCHDALI_CHECK(value.shape == expected, "argument `", parameter->name, "` has shape ",
                      value.shape, ", expected ", expected,
                      " (one value for each position along "
                      "the axes of ",
                      in.shape, " that are not normalized) or a single value");
    }
    return axes;
  }
  static void read(SampleContext& ctx, const Parameter& parameter, std::span<float> values) {
    const SampleView& view = ctx.argument_input(parameter.slot);
    dispatch_dtype(view.dtype, [&]<class T>() {
      const T* from = view.as<const T>();
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(from[view.volume() == 1 ? 0 : i]);
    });
  }
  // For a batch that is normalized together. Part: {sample, axes}.
  template <class Part>
  std::vector<Part> batch_parts(const BatchContext& ctx) const {
    std::vector<Part> parts;
    for (int k = 0; k < ctx.size(); ++k) {
      const SampleView& in = ctx.input(0, k);
      parts.push_back({&in, axes_(in)});
      check_kept_extents(parts.front(), parts.back(), ctx.index_in_batch(k));
    }
    return parts;
  }
  template <class Part>
  static void check_kept_extents(const Part& first, const Part& part, int index) {
    const Shape &a = first.sample->shape, &b = part.sample->shape;
    bool same = a.ndim() == b.ndim() && first.axes == part.axes;
    for (int i = 0; same && i < a.ndim(); ++i) same = is_reduced(part.axes, i) || a[i] == b[i];
    TORCHDALI_CHECK(same,
                    "with `batch` the samples must agree in the axes that are not "
                    "normalized: sample ",
                    index, " has shape ", b, ", one before it ", a);
  }

  ReducedAxes axes_;
  Parameter mean_, stddev_;
  bool batch_;
  DType dtype_;
  int ddof_;
  float epsilon_, scale_, shift_;
};

class Normalize final : public Operator, private NormalizeArgs {
 public:
  explicit Normalize(const OpSpec& spec) : NormalizeArgs(spec) {}

  std::optional<BatchTraits> batch_traits() const override {
    return batch_wide() ? std::optional(BatchTraits{}) : std::nullopt;
  }

  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    auto state = std::make_unique<BatchMoments>();
    const auto parts = batch_parts<MomentsPart>(ctx);
    const size_t count =
        static_cast<size_t>(ReducedCounts(parts.front().sample->shape, parts.front().axes).results);
    state->mean.assign(count, mean_.constant);
    state->factor.resize(count);
    std::vector<double> scratch(2 * count);
    compute(parts, state->mean, state->factor, scratch);
    return state;
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    SampleView& out = ctx.output(0, dtype_, in.shape, in.layout);
    if (out.volume() == 0) return;
    const kernels::AxisMask axes = axes_of(ctx);
    const auto apply = [&](std::span<const float> mean, std::span<const float> factor) {
      kernels::standardize({.in = in.data,
                            .in_dtype = in.dtype,
                            .out = out.data,
                            .out_dtype = dtype_,
                            .shape = in.shape,
                            .axes = axes,
                            .mean = mean.data(),
                            .scale = factor.data(),
                            .shift = shift_});
    };
    if (batch_wide()) {
      const auto& state = ctx.batch_state<BatchMoments>();
      return apply(state.mean, state.factor);
    }
    const size_t count = static_cast<size_t>(ReducedCounts(in.shape, axes).results);
    const auto mean = ctx.scratch<float>(count), factor = ctx.scratch<float>(count);
    if (mean_.is_tensor()) read(ctx, mean_, mean);
    else std::fill(mean.begin(), mean.end(), mean_.constant);
    if (stddev_.is_tensor()) {
      read(ctx, stddev_, factor);
      for (float& f : factor) f = factor_of_tensor(f);
    }
    const MomentsPart part{&in, axes};
    compute(
        {&part, 1}, mean, factor,
        mean_.computed || stddev_.computed ? ctx.scratch<double>(2 * count) : std::span<double>());
    apply(mean, factor);
  }

 private:
  // Computes what was not given as a tensor. `mean` has the mean if it was given.
  void compute(std::span<const MomentsPart> parts, std::span<float> mean, std::span<float> factor,
               std::span<double> scratch) const {
    const size_t count = mean.size();
    int64_t values = 0;
    if (mean_.computed || stddev_.computed)
      values = moments(parts, mean_.computed, stddev_.computed, mean, scratch);
    if (stddev_.is_constant()) std::fill(factor.begin(), factor.end(), factor_of(stddev_.constant));
    if (!stddev_.computed) return;
    const double divisor = static_cast<double>(values) - ddof_;
    for (size_t i = 0; i < count; ++i)
      factor[i] = kernels::deviation_factor(scratch[i], divisor, epsilon_, scale_);
  }
};

// The mean and the factor of some samples, in the workspace; null if the value is given.
struct NormalizeMoments {
  void *mean = nullptr, *factor = nullptr;
  DType mean_dtype = DType::kFloat;
};
struct NormalizeSteps final : gpu::TaskBatch {
  gpu::Reductions means{*this}, deviations{*this};
  gpu::Tasks<gpu::StandardizeKernel> results{*this};
  NormalizeMoments batch;  // of all samples, if they are normalized together
};

class NormalizeGpu final : public gpu::StepsOperator<NormalizeSteps>, private NormalizeArgs {
 public:
  explicit NormalizeGpu(const OpSpec& spec) : NormalizeArgs(spec) {}

  std::unique_ptr<BatchState> make_tasks(BatchContext& ctx) const override {
    auto steps = std::make_unique<NormalizeSteps>();
    if (!batch_wide()) return steps;
    const auto parts = batch_parts<gpu::ReducedSample>(ctx);
    const std::vector<float> mean(1, mean_.constant);
    steps->batch = moments(*steps, parts, mean);
    return steps;
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const SampleView& out = ctx.output(0, dtype_, in.shape, in.layout);
    if (out.volume() == 0) return;
    NormalizeSteps& steps = this->steps(ctx);
    const kernels::AxisMask axes = axes_of(ctx);
    const auto count = static_cast<size_t>(ReducedCounts(in.shape, axes).results);
    std::vector<float> mean(count, mean_.constant), factor(count);
    if (mean_.is_tensor()) read(ctx, mean_, mean);
    if (stddev_.is_tensor()) {
      read(ctx, stddev_, factor);
      for (float& f : factor) f = factor_of_tensor(f);
    } else if (stddev_.is_constant()) {
      std::fill(factor.begin(), factor.end(), factor_of(stddev_.constant));
    }
    const gpu::ReducedSample part{&in, axes};
    const NormalizeMoments given = batch_wide() ? steps.batch : moments(steps, {&part, 1}, mean);
    gpu::StandardizeTask task;
    task.in = in.data;
    task.out = out.data;
    task.size = out.volume();
    task.in_dtype = in.dtype;
    task.out_dtype = dtype_;
    task.shift = shift_;
    task.mean = given.mean;
    task.mean_dtype = given.mean_dtype;
    task.scale = given.factor;
    if (given.mean == nullptr) task.mean_list = steps.blob.keep(std::span<const float>(mean));
    if (given.factor == nullptr) task.scale_list = steps.blob.keep(std::span<const float>(factor));
    set_axes(task, in.shape, axes);
    steps.results.add(ctx, task);
  }

 private:
  // Adds the tasks that compute mean and factor of all `parts` together. `given`: the mean, one
  // value or one per result, if it is not computed.
  NormalizeMoments moments(NormalizeSteps& steps, std::span<const gpu::ReducedSample> parts,
                           std::span<const float> given) const {
    NormalizeMoments result;
    const SampleView& first = *parts.front().sample;
    const int64_t count = ReducedCounts(first.shape, parts.front().axes).results;
    if (mean_.computed) {
      // On the CPU, sums of 8 and 16 bits are exact, and so are deviations from this mean.
      const bool narrow = !is_floating(first.dtype) && itemsize(first.dtype) <= 2;
      result.mean_dtype = narrow ? DType::kFloat64 : DType::kFloat;
      result.mean = steps.workspace.reserve(count * itemsize(result.mean_dtype));
      gpu::FoldTask fold;
      fold.reduction = kernels::Reduction::kMean;
      fold.result = gpu::ReduceResult::kMean;
      fold.out = result.mean;
      fold.out_dtype = result.mean_dtype;
      steps.means.add_intermediate(parts, fold);
    }
    if (stddev_.computed) {
      result.factor = steps.workspace.reserve(count * itemsize(DType::kFloat));
      gpu::GivenMean mean{.data = result.mean, .dtype = result.mean_dtype, .step = 1};
      if (!mean_.computed) {
        mean.values = given;
        mean.step = given.size() == 1 ? 0 : 1;
      }
      gpu::FoldTask fold;
      fold.reduction = kernels::Reduction::kSumOfSquaredDeviations;
      fold.result = gpu::ReduceResult::kFactor;
      fold.out = result.factor;
      fold.out_dtype = DType::kFloat;
      fold.ddof = ddof_;
      fold.epsilon = epsilon_;
      fold.scale = scale_;
      steps.deviations.add_intermediate(parts, fold, mean);
    }
    return result;
  }
  // Adjacent axes are merged if all or none of them are normalized along.
  static void set_axes(gpu::StandardizeTask& task, const Shape& shape, kernels::AxisMask axes) {
    std::vector<std::pair<int64_t, int64_t>> groups;  // extent and step, innermost first
    int64_t step = 1;
    for (int i = shape.ndim() - 1; i >= 0; --i) {
      if (shape[i] == 1) continue;
      const int64_t here = is_reduced(axes, i) ? 0 : step;
      if (!groups.empty() && (groups.back().second == 0) == (here == 0))
        groups.back().first *= shape[i];
      else groups.emplace_back(shape[i], here);
      if (here != 0) step *= shape[i];
    }
    TORCHDALI_CHECK_KIND(kUnsupported, groups.size() <= gpu::kMaxAxes, "`axes` make ",
                         groups.size(), " groups of axes, on the GPU at most ", gpu::kMaxAxes,
                         " are possible", to_fix("use fn.transpose, or the CPU"));
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
      task.extent[task.ndim] = group->first;
      task.step[task.ndim++] = group->second;
    }
  }
};

// Not .sequences(): a mean whose layout begins with F belongs to the whole sequence, as `axes` do.
TORCHDALI_OPERATOR("normalize")
    .doc(
        "scale * (x - mean) / stddev + shift, in float, with a mean and a standard deviation that "
        "are given or computed along axes, of each sample or of the batch. Where the standard "
        "deviation is 0, the result is `shift`.")
    .input("data", "Samples; any element type and layout, also volumes and sequences.")
    .output("normalized", "Shape and layout of the input, element type `dtype`.")
    .with(reduced_axes_args(
        "along which mean and standard deviation are computed. By default those along which the "
        "tensors given for `mean` or `stddev` have extent 1, else all"))
    .arg("batch", false,
         "Compute mean and standard deviation over all samples of the batch, which must agree in "
         "the other axes.")
    .optional_arg("mean", ArgType::kFloat,
                  "The mean: a number, or a tensor per sample, which has extent 1 along `axes` and "
                  "that of the input along the others, or a single value. Computed by default.",
                  Arity::kPerSample)
    .optional_arg(
        "stddev", ArgType::kFloat,
        "The standard deviation, like `mean`. Computed by default, from `mean` if that is given.",
        Arity::kPerSample)
    .arg("ddof", 0, "Delta degrees of freedom of the computed variance: divisor N - ddof.")
    .arg("epsilon", 0.0f, "Added to the variance (a given standard deviation's square).")
    .arg("scale", 1.0f, "Factor of the result.")
    .arg("shift", 0.0f, "Added to the result. The mean becomes this value.")
    .arg("dtype", DType::kFloat,
         "Element type of the output. For integers results are rounded to the nearest, halves away "
         "from zero, and saturate.")
    .cpu<Normalize>()
    .gpu<NormalizeGpu>();

}  // namespace
}  // namespace torchdali
