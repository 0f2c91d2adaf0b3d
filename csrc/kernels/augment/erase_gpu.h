// SPDX-License-Identifier: Apache-2.0
// fn.random_erase on the GPU.
#pragma once

#include "kernels/augment/erase_noise.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// Elements [planes, height, width, channels], where planes or channels are 1.
struct RandomEraseTask : TaskBase {
  DType dtype = DType::kNone;
  bool noise = false;
  int64_t height = 0, width = 0, channels = 1;
  kernels::Rectangle erased;
  BlobOffset values = 0;  // floats, one for each plane or channel; unless `noise`
  uint64_t seed = 0, sample = 0, block = 0;
};
struct RandomEraseKernel : Kernel<RandomEraseTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const int64_t channel = index.axis(task.channels), x = index.axis(task.width),
                  y = index.axis(task.height), number = index.rest() + channel;
    const bool erased = task.erased.contains(y, x);
    float value = 0;
    if (erased && task.noise) {
      const kernels::Rectangle& at = task.erased;
      const int64_t draw = (number * at.height + y - at.y) * at.width + x - at.x;
      float draws[4];
      kernels::normal_block(draws, task.seed, task.sample,
                            task.block + static_cast<uint64_t>(draw / 4));
      value = draws[draw % 4];
    } else if (erased) {
      value = list<float>(task.values)[number];
    }
    const auto write = [&]<class T>(T) {
      static_cast<T*>(task.out)[i] =
          erased ? kernels::erased_value<T>(value) : static_cast<const T*>(task.in)[i];
    };
    if (task.dtype == DType::kUInt8) write(uint8_t{});
    else write(0.0f);
  }
};
TORCHDALI_GPU_KERNEL(RandomEraseKernel)

}  // namespace torchdali::gpu
