// SPDX-License-Identifier: Apache-2.0
// Median filter on the GPU. Finds the bits of the median from the highest to the lowest, by
// counting elements of the window.
#pragma once

#include "kernels/border.h"
#include "kernels/gpu/kernel.h"
#include "kernels/morphology/median_scalar.h"

namespace torchdali::gpu {

struct MedianTask : TypedTask {
  int64_t height = 1, width = 1, channels = 1;
  int64_t window_y = 1, window_x = 1;
};

struct MedianKernel : Kernel<MedianTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    switch (task.in_dtype) {
      case DType::kUInt16: return median<uint16_t>(i);
      case DType::kInt16: return median<int16_t>(i);
      case DType::kInt32: return median<int32_t>(i);
      case DType::kFloat: return median<float>(i);
      default: return median<uint8_t>(i);
    }
  }

 private:
  template <class T>
  TORCHDALI_HOST_DEVICE void median(int64_t i) const {
    Unravel index(i);
    const int64_t channel = index.axis(task.channels);
    const int64_t x = index.axis(task.width), y = index.axis(task.height);
    const T* in = static_cast<const T*>(task.in) +
                  index.rest() * task.height * task.width * task.channels + channel;
    const int64_t rank = task.window_y * task.window_x / 2;
    uint32_t key = 0;
    for (int bit = 8 * static_cast<int>(sizeof(T)) - 1; bit >= 0; --bit) {
      const uint32_t candidate = key | uint32_t{1} << bit;
      int64_t smaller = 0;
      for (int64_t dy = -task.window_y / 2; dy <= task.window_y / 2; ++dy) {
        const T* row = in + clamped(y + dy, task.height) * task.width * task.channels;
        for (int64_t dx = -task.window_x / 2; dx <= task.window_x / 2; ++dx)
          if (kernels::median_key(row[clamped(x + dx, task.width) * task.channels]) < candidate)
            ++smaller;
      }
      if (smaller <= rank) key = candidate;
    }
    static_cast<T*>(task.out)[i] = kernels::median_of_key<T>(key);
  }
  TORCHDALI_HOST_DEVICE static int64_t clamped(int64_t at, int64_t extent) {
    return kernels::border_index(at, extent, kernels::Border::kClamp);
  }
};
TORCHDALI_GPU_KERNEL(MedianKernel)

}  // namespace torchdali::gpu
