// SPDX-License-Identifier: Apache-2.0
// fn.mel_filter_bank on the GPU: one thread for each value, which adds in the order of the CPU.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// From [outer, bins, inner] to [outer, filters, inner]. MelBank's lists are in the blob.
struct MelTask : TaskBase {
  int64_t bins = 0, filters = 0, inner = 1;
  BlobOffset start = 0, rising = 0, falling = 0;
};
struct MelKernel : Kernel<MelTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const int64_t inner = index.axis(task.inner), filter = index.axis(task.filters);
    const float* in =
        static_cast<const float*>(task.in) + index.rest() * task.bins * task.inner + inner;
    const int32_t* start = list<int32_t>(task.start) + filter;
    const float* rising = list<float>(task.rising);
    const float* falling = list<float>(task.falling);
    float sum = 0;
    for (int32_t b = start[0]; b < start[1]; ++b) sum += in[b * task.inner] * rising[b];
    for (int32_t b = start[1]; b < start[2]; ++b) sum += in[b * task.inner] * falling[b];
    static_cast<float*>(task.out)[i] = sum;
  }
};
TORCHDALI_GPU_KERNEL(MelKernel)

}  // namespace torchdali::gpu
