// SPDX-License-Identifier: Apache-2.0
// Reductions of single samples, or of several samples together, as tasks of two kernels.
#pragma once

#include <span>

#include "core/batch_context.h"
#include "core/view.h"
#include "gpu/operator.h"
#include "kernels/math/reduce_gpu.h"

namespace torchdali::gpu {

// The input and the axes to reduce.
struct ReducedSample {
  const SampleView* sample;
  kernels::AxisMask axes;
};
// Device memory with one mean for each result (`step` 1) or for all (0), or values on the host.
struct GivenMean {
  const void* data = nullptr;
  DType dtype = DType::kFloat;
  int64_t step = 0;
  std::span<const float> values = {};
};

// Two launches: the parts of all results, and the results.
class Reductions {
 public:
  explicit Reductions(TaskBatch& batch) : batch_(batch), parts_(batch), folds_(batch) {}
  // `fold` describes how results are computed from accumulators: reduction, result, out (in an
  // output of the current sample), out_dtype, and the fields that the result needs.
  void add(const SampleContext& ctx, const ReducedSample& sample, FoldTask fold,
           const GivenMean& mean = {});
  // Reduces all `samples` together, whose shapes agree in the axes that are kept. `fold.out` is in
  // the workspace.
  void add_intermediate(std::span<const ReducedSample> samples, FoldTask fold,
                        const GivenMean& mean = {});

 private:
  // Completes `fold`, and adds the parts that it combines.
  void add_parts(std::span<const ReducedSample> samples, const GivenMean& mean, FoldTask& fold);
  TaskBatch& batch_;
  Tasks<ReduceKernel> parts_;
  Tasks<FoldKernel> folds_;
};

struct ReductionSteps final : TaskBatch {
  Reductions reductions{*this};
};
// Base class of reductions on the GPU.
class ReductionOperator : public StepsOperator<ReductionSteps> {
 protected:
  // Reduces input 0.
  static void add(const SampleContext& ctx, kernels::AxisMask axes, const FoldTask& fold,
                  const GivenMean& mean = {}) {
    steps(ctx).reductions.add(ctx, {&ctx.input(0), axes}, fold, mean);
  }
};

}  // namespace torchdali::gpu
