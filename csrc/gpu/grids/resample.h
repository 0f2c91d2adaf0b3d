// SPDX-License-Identifier: Apache-2.0
// Resampling by the tables of kernels/resample_table.h, all axes at once: a result pixel is a sum
// over a box of the source.
#pragma once

#include "gpu/grids/grid.h"

namespace torchdali::gpu {

struct ResampleGrid {
  const ResampleTask* tasks;
  const void* blob;

  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ResampleTask& task = tasks[t];
    if (task.in_dtype == DType::kUInt8) return pixel<uint8_t>(task, i);
    if (task.in_dtype == DType::kInt16) return pixel<int16_t>(task, i);
    if (task.in_dtype == DType::kUInt16) return pixel<uint16_t>(task, i);
    return pixel<float>(task, i);
  }

 private:
  // Channels whose sums are made at the same time.
  static constexpr int kAtOnce = 4;

  template <class T>
  TORCHDALI_HOST_DEVICE void pixel(const ResampleTask& task, int64_t i) const {
    Unravel index(i);
    int64_t from = 0;
    const float* weights[3];
    for (int a = 2; a >= 0; --a) {
      const ResampleAxisTable& axis = task.axes[a];
      const int64_t at = index.axis(axis.out);
      from += list_of<int32_t>(blob, axis.start)[at] * axis.in_stride;
      weights[a] = list_of<float>(blob, axis.weights) + at * axis.taps;
    }
    const T* in = static_cast<const T*>(task.in) + index.rest() * task.outer_stride + from;
    for (int64_t c = 0; c < task.channels; c += kAtOnce) {
      const int count = task.channels - c < kAtOnce ? static_cast<int>(task.channels - c) : kAtOnce;
      float sums[kAtOnce] = {};
      if (count == 3) box<T, 3>(task, weights, in + c, sums);
      else if (count == 1) box<T, 1>(task, weights, in + c, sums);
      else if (count == 2) box<T, 2>(task, weights, in + c, sums);
      else box<T, 4>(task, weights, in + c, sums);
      for (int k = 0; k < count; ++k)
        store_float(task.out, task.out_dtype, i * task.channels + c + k, sums[k]);
    }
  }
  template <class T, int kCount>
  TORCHDALI_HOST_DEVICE static void box(const ResampleTask& task, const float* const* weights,
                                        const T* in, float* sums) {
    for (int z = 0; z < task.axes[0].taps; ++z)
      for (int y = 0; y < task.axes[1].taps; ++y) {
        const T* row = in + z * task.axes[0].in_stride + y * task.axes[1].in_stride;
        const float wzy = weights[0][z] * weights[1][y];
        float line[kCount] = {};
        for (int x = 0; x < task.axes[2].taps; ++x, row += task.axes[2].in_stride)
          for (int k = 0; k < kCount; ++k) line[k] += weights[2][x] * static_cast<float>(row[k]);
        for (int k = 0; k < kCount; ++k) sums[k] += wzy * line[k];
      }
  }
};

}  // namespace torchdali::gpu
