// SPDX-License-Identifier: Apache-2.0
// Reductions of samples, and of several together, as tasks of the two kernels that make them.
#pragma once

#include <span>

#include "core/batch_context.h"
#include "core/view.h"
#include "gpu/operator.h"

namespace torchdali::gpu {

// What is reduced, and along which axes.
struct ReducedSample {
  const SampleView* sample;
  kernels::AxisMask axes;
};
// Device memory of one mean a result (`step` 1) or one for all (0), or values that the host has.
struct GivenMean {
  const void* data = nullptr;
  DType dtype = DType::kFloat;
  int64_t step = 0;
  std::span<const float> values = {};
};

class Reductions {
 public:
  // `fold` says what becomes of the accumulators: reduction, result, out (in an output of the
  // sample in hand), out_dtype, and what belongs to the result.
  void add(const SampleContext& ctx, Workspace& workspace, const ReducedSample& sample,
           FoldTask fold, const GivenMean& mean = {});
  // Over all `samples` together, which agree in the axes that are kept; `fold.out` is of the
  // workspace.
  void add_intermediate(Workspace& workspace, std::span<const ReducedSample> samples, FoldTask fold,
                        const GivenMean& mean = {});
  // The workspace is allocated.
  void launch(const BatchContext& ctx, const Workspace& workspace);

 private:
  // Completes `fold`, and adds what it folds.
  void add_parts(Workspace& workspace, std::span<const ReducedSample> samples,
                 const GivenMean& mean, FoldTask& fold);
  Tasks<ReduceTask> parts_;
  Tasks<FoldTask> folds_;
};

// The state of an operator that is a reduction.
struct ReductionTasks final : BatchState {
  Workspace workspace;
  Reductions reductions;
};
class ReductionOperator : public GpuOperator {
 public:
  std::unique_ptr<BatchState> make_tasks(BatchContext& /*ctx*/) const final {
    return std::make_unique<ReductionTasks>();
  }
  void launch(BatchContext& ctx, BatchState& state) const final {
    auto& tasks = static_cast<ReductionTasks&>(state);
    tasks.workspace.allocate(ctx);
    tasks.reductions.launch(ctx, tasks.workspace);
  }

 protected:
  // Reduces input 0.
  static void add(const SampleContext& ctx, kernels::AxisMask axes, const FoldTask& fold,
                  const GivenMean& mean = {}) {
    auto& tasks = ctx.batch_state<ReductionTasks>();
    tasks.reductions.add(ctx, tasks.workspace, {&ctx.input(0), axes}, fold, mean);
  }
};

}  // namespace torchdali::gpu
