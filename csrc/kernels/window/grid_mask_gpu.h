// SPDX-License-Identifier: Apache-2.0
// kernels/window/grid_mask.h on the GPU.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/window/grid_mask.h"

namespace torchdali::gpu {

// The input, [planes, height, width, pixel] elements, with zeros where the grid masks it.
struct GridMaskTask : TaskBase {
  int itemsize = 1;
  int64_t height = 1, width = 1, pixel = 1;
  float left = 0, top = 0, cosine = 1, sine = 0, ratio = 0;
};
struct GridMaskKernel : Kernel<GridMaskTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    index.axis(task.pixel);
    const auto x = static_cast<int32_t>(index.axis(task.width));
    const int64_t y = index.axis(task.height);
    const kernels::GridRow row =
        kernels::grid_row_at(y, task.left, task.top, task.cosine, task.sine, task.ratio);
    store_bytes(task.out, task.itemsize, i,
                kernels::grid_keeps(row, x) != 0 ? load_bytes(task.in, task.itemsize, i) : 0);
  }
};
TORCHDALI_GPU_KERNEL(GridMaskKernel)

}  // namespace torchdali::gpu
