// SPDX-License-Identifier: Apache-2.0
// Regions of several images on one canvas, on the GPU: multi_paste. An element is written once,
// from the last region that covers it.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// Regions of images on a black canvas, [height, width, channels].
struct PastedRegion {
  const void* image = nullptr;                       // the region's first element
  int64_t row = 0;                                   // elements from row to row of the image
  int64_t top = 0, left = 0, height = 0, width = 0;  // on the canvas
};
struct PasteTask : TypedTask {
  int64_t width = 1, channels = 1;
  int64_t regions = 0;
  BlobOffset list = 0;  // PastedRegion; later ones cover earlier ones
};
struct PasteKernel : Kernel<PasteTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const int64_t c = index.axis(task.channels), x = index.axis(task.width), y = index.rest();
    const PastedRegion* regions = list<PastedRegion>(task.list);
    for (int64_t r = task.regions - 1; r >= 0; --r) {
      const PastedRegion& region = regions[r];
      const int64_t row = y - region.top, column = x - region.left;
      if (row < 0 || row >= region.height || column < 0 || column >= region.width) continue;
      paste(region.image, row * region.row + column * task.channels + c, i);
      return;
    }
    store_bytes(task.out, size_of(task.out_dtype), i, 0);
  }

 private:
  TORCHDALI_HOST_DEVICE void paste(const void* image, int64_t from, int64_t to) const {
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
TORCHDALI_GPU_KERNEL(PasteKernel)

}  // namespace torchdali::gpu
