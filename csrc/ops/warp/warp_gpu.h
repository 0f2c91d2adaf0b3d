// SPDX-License-Identifier: Apache-2.0
// What the GPU halves of the operators that warp share.
#pragma once

#include <array>
#include <vector>

#include "gpu/operator.h"
#include "kernels/warp/warp.h"

namespace torchdali {

class WarpGpuOperator : public gpu::TaskOperator<gpu::WarpTask, &gpu::GpuKernels::warp> {};

// Sets all of `task` but where pixels come from. `extents` and `out` are the result's.
void set_warp(gpu::Tasks<gpu::WarpTask>& tasks, gpu::WarpTask& task,
              const kernels::WarpSampler& sampler, const std::array<int64_t, 3>& extents,
              void* out);

}  // namespace torchdali
