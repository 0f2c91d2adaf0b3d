// SPDX-License-Identifier: Apache-2.0
// Linear functions of elements on the GPU: brightness, contrast.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

// x * factor + offset, converted.
struct LinearTask : TypedTask {
  float factor = 1, offset = 0;
};
struct LinearKernel : Kernel<LinearTask> {
  static constexpr int kElementsPerCall = 8;
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    float x[kElementsPerCall];
    load_run(task.in, task.in_dtype, i * kElementsPerCall, task.size, x);
    for (float& value : x) value = value * task.factor + task.offset;
    store_run(task.out, task.out_dtype, i * kElementsPerCall, task.size, x);
  }
};
TORCHDALI_GPU_KERNEL(LinearKernel)

}  // namespace torchdali::gpu
