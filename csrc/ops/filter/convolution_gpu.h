// SPDX-License-Identifier: Apache-2.0
// Separable filters on the GPU: a launch for each axis that has a window, with results in float
// between them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/batch_context.h"
#include "gpu/operator.h"
#include "ops/filter/convolution_axes.h"

namespace torchdali {

class ConvolutionTasks final : public BatchState {
 public:
  // As run_convolution(): `out` is the output that was made.
  void add(const SampleContext& ctx, const ConvolutionAxes& axes,
           std::span<const kernels::SeparableFilter> filters, const SampleView& in,
           const SampleView& out);
  void launch(const BatchContext& ctx);

 private:
  struct Pass {
    gpu::ConvolveTask task;  // its memory is the sample's, or of the workspace
    int sample = 0;
    bool to_output = false;
  };
  void add_pass(size_t number, const Pass& pass);
  gpu::BlobOffset keep(const kernels::HalfWindow& window);

  std::vector<std::vector<Pass>> passes_;  // by launch
  std::vector<float> weights_;
  gpu::Workspace workspace_;
};

// run() calls add().
class ConvolutionGpuOperator : public gpu::GpuOperator {
 public:
  std::unique_ptr<BatchState> make_tasks(BatchContext& /*ctx*/) const final {
    return std::make_unique<ConvolutionTasks>();
  }
  void launch(BatchContext& ctx, BatchState& tasks) const final {
    static_cast<ConvolutionTasks&>(tasks).launch(ctx);
  }

 protected:
  static ConvolutionTasks& tasks(const SampleContext& ctx) {
    return ctx.batch_state<ConvolutionTasks>();
  }
};

}  // namespace torchdali
