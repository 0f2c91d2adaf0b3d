// SPDX-License-Identifier: Apache-2.0
// Resampling by the tables of kernels/resample_table.h, all axes at once: a result pixel is a sum
// over a box of the source.
#pragma once

#include "gpu/grids/runs.h"

namespace torchdali::gpu {

struct ResampleGrid {
  const ResampleTask* tasks;
  const void* blob;

  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ResampleTask& task = tasks[t];
    if (task.in_dtype == DType::kUInt8) return pixels<uint8_t>(task, i);
    if (task.in_dtype == DType::kInt16) return pixels<int16_t>(task, i);
    if (task.in_dtype == DType::kUInt16) return pixels<uint16_t>(task, i);
    return pixels<float>(task, i);
  }

 private:
  // Channels whose sums are made at the same time.
  static constexpr int kAtOnce = 4;

  template <class T>
  TORCHDALI_HOST_DEVICE void pixels(const ResampleTask& task, int64_t i) const {
    const int64_t width = task.axes[2].out;
    Unravel index(i);
    const int64_t x = index.axis((width + kResampleRun - 1) / kResampleRun) * kResampleRun;
    const int64_t row = index.rest();  // of the output
    const float* weights[2];
    int64_t from = 0;
    for (int a = 1; a >= 0; --a) {
      const ResampleAxisTable& axis = task.axes[a];
      const int64_t at = index.axis(axis.out);
      from += list_of<int32_t>(blob, axis.start)[at] * axis.in_stride;
      weights[a] = list_of<float>(blob, axis.weights) + at * axis.taps;
    }
    const T* in = static_cast<const T*>(task.in) + index.rest() * task.outer_stride + from;
    const int64_t pixel = row * width + x;
    const int64_t left = width - x;
    const int count = left < kResampleRun ? static_cast<int>(left) : kResampleRun;
    if (task.channels == 3) return run<T, 3>(task, weights, in, x, count, pixel);
    if (task.channels == 1) return run<T, 1>(task, weights, in, x, count, pixel);
    for (int k = 0; k < count; ++k)
      for (int64_t c = 0; c < task.channels; c += kAtOnce) {
        float sums[kAtOnce] = {};
        const int64_t rest = task.channels - c;
        if (rest >= kAtOnce) box<T, kAtOnce>(task, weights, in + c, x + k, sums);
        else if (rest == 3) box<T, 3>(task, weights, in + c, x + k, sums);
        else if (rest == 2) box<T, 2>(task, weights, in + c, x + k, sums);
        else box<T, 1>(task, weights, in + c, x + k, sums);
        for (int64_t s = 0; s < kAtOnce && s < rest; ++s)
          store_float(task.out, task.out_dtype, (pixel + k) * task.channels + c + s, sums[s]);
      }
  }
  // Pixels `x` to `x + count` of a row.
  template <class T, int kChannels>
  TORCHDALI_HOST_DEVICE void run(const ResampleTask& task, const float* const* weights,
                                 const T* in, int64_t x, int count, int64_t pixel) const {
    float sums[kResampleRun * kChannels] = {};
    for (int k = 0; k < kResampleRun; ++k)
      if (k < count) box<T, kChannels>(task, weights, in, x + k, sums + k * kChannels);
    store_run(task.out, task.out_dtype, pixel * kChannels, (pixel + count) * kChannels, sums);
  }
  template <class T, int kCount>
  TORCHDALI_HOST_DEVICE void box(const ResampleTask& task, const float* const* weights,
                                 const T* in, int64_t x, float* sums) const {
    const ResampleAxisTable& axis = task.axes[2];
    const int64_t step = axis.in_stride;
    const float* across = list_of<float>(blob, axis.weights) + x * axis.taps;
    in += list_of<int32_t>(blob, axis.start)[x] * step;
    for (int z = 0; z < task.axes[0].taps; ++z)
      for (int y = 0; y < task.axes[1].taps; ++y) {
        const T* row = in + z * task.axes[0].in_stride + y * task.axes[1].in_stride;
        const float weight = weights[0][z] * weights[1][y];
        float line[kCount] = {};
        for (int tap = 0; tap < axis.taps; ++tap, row += step)
          for (int k = 0; k < kCount; ++k) line[k] += across[tap] * static_cast<float>(row[k]);
        for (int k = 0; k < kCount; ++k) sums[k] += weight * line[k];
      }
  }
};

}  // namespace torchdali::gpu
