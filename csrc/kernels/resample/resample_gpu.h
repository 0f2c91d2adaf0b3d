// SPDX-License-Identifier: Apache-2.0
// Resampling on the GPU. Both kernels take a ResampleTask; ops/resize/resize_filter.cpp chooses.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/resample/box_resampling.h"
#include "kernels/resample/store_sums.h"
#include "kernels/resample/strip_resampling.h"

namespace torchdali::gpu {

struct ResampleKernel : Kernel<ResampleTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const StoreSums sink{task};
    BoxResampling<StoreSums>{task, blob, sink}(i);
  }
};
TORCHDALI_GPU_KERNEL(ResampleKernel)

struct ResampleStripsKernel : Kernel<ResampleTask> {
  static constexpr int kMinBlocks = 4;
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const StoreSums sink{task};
    StripResampling<StoreSums>{task, blob, sink}(i);
  }
};
TORCHDALI_GPU_KERNEL(ResampleStripsKernel)

}  // namespace torchdali::gpu
