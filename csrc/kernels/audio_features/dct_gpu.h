// SPDX-License-Identifier: Apache-2.0
// fn.mfcc on the GPU: one thread for each coefficient, which adds in the order of the CPU.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// From [outer, size_in, inner] to [outer, coefficients, inner]. The matrix is in the blob.
struct DctTask : TaskBase {
  int64_t size_in = 0, coefficients = 0, inner = 1;
  BlobOffset matrix = 0;
};
struct DctKernel : Kernel<DctTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const int64_t inner = index.axis(task.inner), k = index.axis(task.coefficients);
    const float* in =
        static_cast<const float*>(task.in) + index.rest() * task.size_in * task.inner + inner;
    const float* weights = list<float>(task.matrix) + k * task.size_in;
    float sum = 0;
    for (int64_t n = 0; n < task.size_in; ++n) sum += in[n * task.inner] * weights[n];
    static_cast<float*>(task.out)[i] = sum;
  }
};
TORCHDALI_GPU_KERNEL(DctKernel)

}  // namespace torchdali::gpu
