// SPDX-License-Identifier: Apache-2.0
// The input with boxes filled, all boxes at once, on the GPU.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

struct EraseTask : TaskBase {
  int ndim = 0;
  int itemsize = 1;
  int channel_axis = -1;  // -1: one value serves all
  int64_t extent[kMaxAxes] = {};
  int64_t boxes = 0;
  BlobOffset bounds = 0;  // int64[boxes, ndim, 2]: first index, and the one after the last
  BlobOffset fill = 0;    // uint64[channels]: the bytes of an element
};
struct EraseKernel : Kernel<EraseTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    // Loops of a fixed length keep the index in registers.
    int64_t at[kMaxAxes], channel = 0;
    Unravel index(i);
    for (int a = kMaxAxes - 1; a >= 0; --a) {
      at[a] = a < task.ndim ? index.axis(task.extent[a]) : 0;
      if (a == task.channel_axis) channel = at[a];
    }
    const int64_t* bounds = list<int64_t>(task.bounds);
    bool inside = false;
    for (int64_t b = 0; b < task.boxes && !inside; ++b, bounds += 2 * task.ndim) {
      inside = true;
      for (int a = 0; a < kMaxAxes; ++a)
        if (a < task.ndim) inside = inside && at[a] >= bounds[2 * a] && at[a] < bounds[2 * a + 1];
    }
    store_bytes(
        task.out, task.itemsize, i,
        inside ? list<uint64_t>(task.fill)[channel] : load_bytes(task.in, task.itemsize, i));
  }
};
TORCHDALI_GPU_KERNEL(EraseKernel)

}  // namespace torchdali::gpu
