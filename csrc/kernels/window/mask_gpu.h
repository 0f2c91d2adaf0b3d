// SPDX-License-Identifier: Apache-2.0
// The input with parts of it filled: erase, grid_mask.
#pragma once

#include "kernels/gpu/functor.h"
#include "kernels/window/grid_mask.h"

namespace torchdali::gpu {

struct EraseGrid {
  const EraseTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const EraseTask& task = tasks[t];
    // Loops of a known length: so the index stays in registers.
    int64_t at[kMaxAxes], channel = 0;
    Unravel index(i);
    for (int a = kMaxAxes - 1; a >= 0; --a) {
      at[a] = a < task.ndim ? index.axis(task.extent[a]) : 0;
      if (a == task.channel_axis) channel = at[a];
    }
    const int64_t* bounds = list_of<int64_t>(blob, task.bounds);
    bool inside = false;
    for (int64_t b = 0; b < task.boxes && !inside; ++b, bounds += 2 * task.ndim) {
      inside = true;
      for (int a = 0; a < kMaxAxes; ++a)
        if (a < task.ndim) inside = inside && at[a] >= bounds[2 * a] && at[a] < bounds[2 * a + 1];
    }
    store_bytes(task.out, task.itemsize, i,
                inside ? list_of<uint64_t>(blob, task.fill)[channel]
                       : load_bytes(task.in, task.itemsize, i));
  }
};

struct GridMaskGrid {
  const GridMaskTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const GridMaskTask& task = tasks[t];
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

}  // namespace torchdali::gpu
