// SPDX-License-Identifier: Apache-2.0
// Separable filters on the GPU: one launch for each axis that has a window, with intermediate
// results in float.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/batch_context.h"
#include "gpu/operator.h"
#include "kernels/filter/convolve_gpu.h"
#include "ops/filter/convolution_axes.h"

namespace torchdali {

class ConvolutionSteps final : public gpu::TaskBatch {
 public:
  // Like run_convolution(). `out` is output 0.
  void add(const SampleContext& ctx, const ConvolutionAxes& axes,
           std::span<const kernels::SeparableFilter> filters, const SampleView& in,
           const SampleView& out);

 private:
  using Pass = gpu::Tasks<gpu::ConvolveKernel>;
  Pass& pass(size_t number);
  std::vector<std::unique_ptr<Pass>> passes_;
};

// Its run() calls steps(ctx).add().
using ConvolutionGpuOperator = gpu::StepsOperator<ConvolutionSteps>;

}  // namespace torchdali
