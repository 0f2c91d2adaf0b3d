// SPDX-License-Identifier: Apache-2.0
// Regions of several images on one canvas: multi_paste. An element is written once, by the last
// region that covers it.
#pragma once

#include "kernels/gpu/functor.h"

namespace torchdali::gpu {

struct PasteGrid {
  const PasteTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const PasteTask& task = tasks[t];
    Unravel index(i);
    const int64_t c = index.axis(task.channels), x = index.axis(task.width), y = index.rest();
    const PastedRegion* regions = list_of<PastedRegion>(blob, task.list);
    for (int64_t r = task.regions - 1; r >= 0; --r) {
      const PastedRegion& region = regions[r];
      const int64_t row = y - region.top, column = x - region.left;
      if (row < 0 || row >= region.height || column < 0 || column >= region.width) continue;
      paste(task, region.image, row * region.row + column * task.channels + c, i);
      return;
    }
    store_bytes(task.out, size_of(task.out_dtype), i, 0);
  }

 private:
  TORCHDALI_HOST_DEVICE static void paste(const PasteTask& task, const void* image, int64_t from,
                                          int64_t to) {
    if (task.in_dtype == task.out_dtype) {
      const int64_t size = size_of(task.in_dtype);
      store_bytes(task.out, size, to, load_bytes(image, size, from));
      return;
    }
    with_type(task.in_dtype, [&]<class From>() {
      const From value = static_cast<const From*>(image)[from];
      with_type(task.out_dtype,
                [&]<class To>() { static_cast<To*>(task.out)[to] = kernels::convert<To>(value); });
    });
  }
};

}  // namespace torchdali::gpu
