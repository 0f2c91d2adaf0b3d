// SPDX-License-Identifier: Apache-2.0
// Copies with strides, windows and fill: crop, slice, pad, flip, transpose, cat, stack.
#pragma once

#include "gpu/grids/grid.h"

namespace torchdali::gpu {

struct CopyGrid {
  const CopyTask* tasks;

  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const CopyTask& task = tasks[t];
    const char* from = static_cast<const char*>(task.in);
    char* to = static_cast<char*>(task.out);
    Unravel index(i);
    bool inside = true;
    for (int a = task.ndim - 1; a >= 0; --a) {
      const int64_t at = index.axis(task.extent[a]);
      from += at * task.in_stride[a];
      to += at * task.out_stride[a];
      if (task.windowed) inside = inside && at >= task.low[a] && at < task.high[a];
    }
    switch (task.itemsize) {
      case 1: return move<uint8_t>(to, from, inside, task.fill);
      case 2: return move<uint16_t>(to, from, inside, task.fill);
      case 4: return move<uint32_t>(to, from, inside, task.fill);
      case 8: return move<uint64_t>(to, from, inside, task.fill);
      default: return move<Wide>(to, from, true, 0);
    }
  }

 private:
  struct alignas(16) Wide {
    uint64_t low, high;
    TORCHDALI_HOST_DEVICE explicit Wide(uint64_t x) : low(x), high(x) {}
  };
  template <class T>
  static TORCHDALI_HOST_DEVICE void move(char* to, const char* from, bool inside, uint64_t fill) {
    *reinterpret_cast<T*>(to) =
        inside ? *reinterpret_cast<const T*>(from) : static_cast<T>(fill);
  }
};

}  // namespace torchdali::gpu
