// SPDX-License-Identifier: Apache-2.0
// Copies with strides, windows and fill: pad, flip, transpose, cat, stack, subscripts.
#pragma once

#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

struct CopyGrid {
  const CopyTask* tasks;

  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const CopyTask& task = tasks[t];
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
      case 1: return copy<1>(task, run);
      case 2: return copy<2>(task, run);
      case 3: return copy<3>(task, run);
      case 4: return copy<4>(task, run);
      case 6: return copy<6>(task, run);
      case 8: return copy<8>(task, run);
      case 12: return copy<12>(task, run);
      case 16: return copy<16>(task, run);
      default: return copy<0>(task, run);
    }
  }

 private:
  struct Run {
    const char* from;
    char* to;
    int64_t first = 0, end = 1;  // along the last axis
    bool inside = true;
  };

  // One element, by the widest type that its address allows.
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

  // kBytes: of an element; 0: any number.
  template <int kBytes>
  TORCHDALI_HOST_DEVICE static void copy(const CopyTask& task, const Run& run) {
    const int last = task.ndim - 1;
    const int64_t in_stride = last < 0 ? 0 : task.in_stride[last];
    const int64_t out_stride = last < 0 ? 0 : task.out_stride[last];
    const int count = copy_run(task.itemsize);
    if constexpr (kBytes > 0) {
      constexpr int kRun = copy_run(kBytes), kAll = kBytes * kRun;
      if (out_stride == kBytes && run.first + kRun <= run.end) {
        uint8_t bytes[kAll];
        if constexpr (kBytes % 4 != 0 && kAll % 4 == 0) {
          // Pixels in turn, forward or mirrored: as words.
          if ((in_stride == kBytes || in_stride == -kBytes) && !task.windowed) {
            const bool back = in_stride < 0;
            const char* first = run.from + (run.first + (back ? kRun - 1 : 0)) * in_stride;
            uint8_t read[kAll];
            load_bytes_run(reinterpret_cast<const uint8_t*>(first), read);
            TORCHDALI_UNROLL
            for (int k = 0; k < kRun; ++k) {
              TORCHDALI_UNROLL
              for (int b = 0; b < kBytes; ++b) {
                const uint8_t ahead = read[k * kBytes + b];
                const uint8_t behind = read[(kRun - 1 - k) * kBytes + b];
                bytes[k * kBytes + b] = back ? behind : ahead;
              }
            }
            store_bytes_run(reinterpret_cast<uint8_t*>(run.to + run.first * out_stride), bytes);
            return;
          }
        }
        TORCHDALI_UNROLL
        for (int k = 0; k < kRun; ++k) {
          const int64_t at = run.first + k;
          if (is_inside(task, run, at)) {
            load<kBytes>(run.from + at * in_stride, bytes + k * kBytes);
          } else {
            TORCHDALI_UNROLL
            for (int b = 0; b < kBytes; ++b) bytes[k * kBytes + b] = fill_byte(task, b);
          }
        }
        store_bytes_run(reinterpret_cast<uint8_t*>(run.to + run.first * out_stride), bytes);
        return;
      }
    }
    for (int64_t at = run.first; at < run.first + count && at < run.end; ++at) {
      const char* from = run.from + at * in_stride;
      char* to = run.to + at * out_stride;
      const bool inside = is_inside(task, run, at);
      for (int b = 0; b < task.itemsize; ++b)
        to[b] = inside ? from[b] : static_cast<char>(fill_byte(task, b));
    }
  }
  TORCHDALI_HOST_DEVICE static bool is_inside(const CopyTask& task, const Run& run, int64_t at) {
    if (!task.windowed) return true;
    const int last = task.ndim - 1;
    return run.inside && (last < 0 || (at >= task.low[last] && at < task.high[last]));
  }
  // Elements with a window have 8 bytes or less.
  TORCHDALI_HOST_DEVICE static uint8_t fill_byte(const CopyTask& task, int b) {
    return static_cast<uint8_t>(task.fill >> (8 * (b % 8)));
  }
};

}  // namespace torchdali::gpu
