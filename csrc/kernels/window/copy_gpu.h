// SPDX-License-Identifier: Apache-2.0
// Copies with strides, windows and fill values on the GPU: pad, flip, transpose, cat, stack,
// subscripts.
#pragma once

#include <type_traits>

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

// How many elements of so many bytes one call copies: 16 bytes or fewer.
constexpr int copy_run(int itemsize) {
  return itemsize == 3 ? 4 : itemsize > 8 ? 1 : 16 / itemsize;
}

// out[i...] = in[i...]. Strides are in bytes and may be negative. With a window, an element whose
// index is outside [low, high) along an axis is `fill` instead. `size` counts runs of elements
// along the last axis.
struct CopyTask : TaskBase {
  int ndim = 0;
  int itemsize = 1;  // up to 16
  int64_t runs = 1;  // of a row: copy_run() elements each, or fewer in the last
  bool windowed = false;
  int64_t extent[kMaxAxes] = {}, in_stride[kMaxAxes] = {}, out_stride[kMaxAxes] = {};
  int64_t low[kMaxAxes] = {}, high[kMaxAxes] = {};
  uint64_t fill = 0;  // the element's bytes
};
struct CopyKernel : Kernel<CopyTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Run run{static_cast<const char*>(task.in), static_cast<char*>(task.out)};
    Unravel index(i);
    const int last = task.ndim - 1;
    if (last >= 0) {
      run.first = index.axis(task.runs) * copy_run(task.itemsize);
      run.end = task.extent[last];
    }
    for (int a = last - 1; a >= 0; --a) {
      const int64_t at = index.axis(task.extent[a]);
      run.from += at * task.in_stride[a];
      run.to += at * task.out_stride[a];
      if (task.windowed) run.inside = run.inside && at >= task.low[a] && at < task.high[a];
    }
    switch (task.itemsize) {
      case 1: return copy<1>(run);
      case 2: return copy<2>(run);
      case 3: return copy<3>(run);
      case 4: return copy<4>(run);
      case 6: return copy<6>(run);
      case 8: return copy<8>(run);
      case 12: return copy<12>(run);
      case 16: return copy<16>(run);
      default: return copy<0>(run);
    }
  }

 private:
  struct Run {
    const char* from;
    char* to;
    int64_t first = 0, end = 1;  // along the last axis
    bool inside = true;
  };

  // Loads one element, by the widest type that its alignment allows.
  template <int kBytes>
  TORCHDALI_HOST_DEVICE static void load(const char* from, uint8_t* x) {
    if constexpr (kBytes == 2 || kBytes % 4 == 0) {
      constexpr int kWord = kBytes == 2 ? 2 : 4;
      using Word = std::conditional_t<kWord == 2, uint16_t, uint32_t>;
      if (is_aligned(from, kWord)) {
        TORCHDALI_UNROLL
        for (int w = 0; w < kBytes / kWord; ++w) {
          const Word word = reinterpret_cast<const Word*>(from)[w];
          TORCHDALI_UNROLL
          for (int k = 0; k < kWord; ++k) x[kWord * w + k] = static_cast<uint8_t>(word >> (8 * k));
        }
        return;
      }
    }
    TORCHDALI_UNROLL
    for (int k = 0; k < kBytes; ++k) x[k] = static_cast<uint8_t>(from[k]);
  }

  // kBytes: size of an element; 0: any size.
  template <int kBytes>
  TORCHDALI_HOST_DEVICE void copy(const Run& run) const {
    const int last = task.ndim - 1;
    const int64_t in_stride = last < 0 ? 0 : task.in_stride[last];
    const int64_t out_stride = last < 0 ? 0 : task.out_stride[last];
    const int count = copy_run(task.itemsize);
    if constexpr (kBytes > 0) {
      constexpr int kRun = copy_run(kBytes), kAll = kBytes * kRun;
      if (out_stride == kBytes && run.first + kRun <= run.end) {
        uint8_t bytes[kAll];
        if constexpr (kBytes % 4 != 0 && kAll % 4 == 0) {
          // Consecutive pixels, forward or mirrored: as words.
          if ((in_stride == kBytes || in_stride == -kBytes) && !task.windowed) {
            const bool back = in_stride < 0;
            const char* first = run.from + (run.first + (back ? kRun - 1 : 0)) * in_stride;
            uint8_t read[kAll];
            load_bytes_run(reinterpret_cast<const uint8_t*>(first), read);
            TORCHDALI_UNROLL
            for (int k = 0; k < kRun; ++k) {
              TORCHDALI_UNROLL
              for (int b = 0; b < kBytes; ++b) {
                const uint8_t forward = read[k * kBytes + b];
                const uint8_t mirrored = read[(kRun - 1 - k) * kBytes + b];
                bytes[k * kBytes + b] = back ? mirrored : forward;
              }
            }
            store_bytes_run(reinterpret_cast<uint8_t*>(run.to + run.first * out_stride), bytes);
            return;
          }
        }
        TORCHDALI_UNROLL
        for (int k = 0; k < kRun; ++k) {
          const int64_t at = run.first + k;
          if (is_inside(run, at)) {
            load<kBytes>(run.from + at * in_stride, bytes + k * kBytes);
          } else {
            TORCHDALI_UNROLL
            for (int b = 0; b < kBytes; ++b) bytes[k * kBytes + b] = fill_byte(b);
          }
        }
        store_bytes_run(reinterpret_cast<uint8_t*>(run.to + run.first * out_stride), bytes);
        return;
      }
    }
    for (int64_t at = run.first; at < run.first + count && at < run.end; ++at) {
      const char* from = run.from + at * in_stride;
      char* to = run.to + at * out_stride;
      const bool inside = is_inside(run, at);
      for (int b = 0; b < task.itemsize; ++b)
        to[b] = inside ? from[b] : static_cast<char>(fill_byte(b));
    }
  }
  TORCHDALI_HOST_DEVICE bool is_inside(const Run& run, int64_t at) const {
    if (!task.windowed) return true;
    const int last = task.ndim - 1;
    return run.inside && (last < 0 || (at >= task.low[last] && at < task.high[last]));
  }
  // Elements with a window have 8 bytes or less.
  TORCHDALI_HOST_DEVICE uint8_t fill_byte(int b) const {
    return static_cast<uint8_t>(task.fill >> (8 * (b % 8)));
  }
};
TORCHDALI_GPU_KERNEL(CopyKernel)

}  // namespace torchdali::gpu
