// SPDX-License-Identifier: Apache-2.0
// The tasks of a chain, for the kernel that resamples by boxes (or not at all) and the one that
// resamples by strips.
#pragma once

#include "gpu/operator.h"
#include "kernels/resample/chain_gpu.h"

namespace torchdali::gpu {

struct ChainTasks final : TaskBatch {
  Tasks<ChainKernel> boxes{*this};
  Tasks<ChainStripsKernel> strips{*this};
};

}  // namespace torchdali::gpu
