// SPDX-License-Identifier: Apache-2.0
// The common part of GPU operators that warp.
#pragma once

#include <array>
#include <vector>

#include "gpu/operator.h"
#include "kernels/warp/warp.h"
#include "kernels/warp/warp_gpu.h"

namespace torchdali {

class WarpGpuOperator : public gpu::KernelOperator<gpu::WarpKernel> {};

// Sets all of `task` except for the positions in the source. `extents` and `out` describe the
// result.
void set_warp(gpu::Blob& blob, gpu::WarpTask& task, const kernels::WarpSampler& sampler,
              const std::array<int64_t, 3>& extents, void* out);

}  // namespace torchdali
