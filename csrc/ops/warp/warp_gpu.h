// SPDX-License-Identifier: Apache-2.0
// What the GPU halves of the operators that warp share.
#pragma once

#include <array>
#include <vector>

#include "gpu/operator.h"
#include "kernels/warp/warp.h"
#include "kernels/warp/warp_gpu.h"

namespace torchdali {

class WarpGpuOperator : public gpu::KernelOperator<gpu::WarpKernel> {};

// Sets all of `task` but where pixels come from. `extents` and `out` are the result's.
void set_warp(gpu::Blob& blob, gpu::WarpTask& task, const kernels::WarpSampler& sampler,
              const std::array<int64_t, 3>& extents, void* out);

}  // namespace torchdali
