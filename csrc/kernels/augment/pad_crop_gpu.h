// SPDX-License-Identifier: Apache-2.0
// fn.pad_crop on the GPU.
#pragma once

#include "kernels/augment/padding.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// out[planes, height, width, channels], where planes or channels are 1; `size` elements.
struct PadCropTask : TaskBase {
  int64_t itemsize = 1;
  int64_t in_height = 0, in_width = 0, height = 0, width = 0, channels = 1;
  int64_t first_y = 0, first_x = 0;  // of the window, in the input
  kernels::PadMode mode = kernels::PadMode::kConstant;
  BlobOffset fill = 0;  // an element for each plane or channel
};
struct PadCropKernel : Kernel<PadCropTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const int64_t channel = index.axis(task.channels);
    const int64_t x =
        kernels::padded_source(index.axis(task.width) + task.first_x, task.in_width, task.mode);
    const int64_t y =
        kernels::padded_source(index.axis(task.height) + task.first_y, task.in_height, task.mode);
    const int64_t plane = index.rest();
    const uint64_t value =
        (x | y) < 0
            ? load_bytes(list<char>(task.fill), task.itemsize, plane + channel)
            : load_bytes(
                  task.in, task.itemsize,
                  ((plane * task.in_height + y) * task.in_width + x) * task.channels + channel);
    store_bytes(task.out, task.itemsize, i, value);
  }
};
TORCHDALI_GPU_KERNEL(PadCropKernel)

}  // namespace torchdali::gpu
