// SPDX-License-Identifier: Apache-2.0
// Filters: symmetric windows along one axis, and any filter at once. Sums are made in the order of
// the CPU's loops, so that they are equal to the bit.
#pragma once

#include "kernels/border.h"
#include "kernels/gpu/functor.h"

namespace torchdali::gpu {

struct ConvolveGrid {
  const ConvolveTask* tasks;
  const void* blob;

  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ConvolveTask& task = tasks[t];
    const auto* weights = list_of<float>(blob, task.weights);
    Unravel index(i);
    const int64_t along = index.axis(task.stride), at = index.axis(task.extent);
    const int64_t begin = index.rest() * task.extent * task.stride + along;
    with_type(task.in_dtype, [&]<class T>() {
      const T* in = static_cast<const T*>(task.in) + begin;
      const auto value = [&](int64_t position) {
        const int64_t inside =
            kernels::border_index(position, task.extent, kernels::Border::kReflect101);
        return kernels::convert<float>(in[inside * task.stride]);
      };
      float total = weights[0] * value(at);
      if (task.sum != nullptr) total = task.sum[i] + total;
      for (int64_t k = 1; k <= task.radius; ++k)
        total += weights[k] * (value(at - k) + value(at + k));
      store_float(task.out, task.out_dtype, i, total);
    });
  }
};

struct CorrelateGrid {
  const CorrelateTask* tasks;
  const void* blob;

  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const CorrelateTask& task = tasks[t];
    const auto* taps = list_of<CorrelateTap>(blob, task.taps);
    Unravel index(i);
    const int64_t channel = index.axis(task.channels);
    int64_t at[3];
    for (int a = 2; a >= 0; --a) at[a] = index.axis(task.out_extents[a]);
    const int64_t outer = index.rest();
    with_type(task.in_dtype, [&]<class T>() {
      const T* in = static_cast<const T*>(task.in);
      const auto value = [&](const CorrelateTap& tap) {
        int64_t offset = outer;
        for (int a = 0; a < 3; ++a) {
          const int64_t extent = task.in_extents[a];
          const int64_t inside = kernels::border_index(at[a] + tap.at[a], extent, task.border);
          if (inside < 0) return task.fill;
          offset = offset * extent + inside;
        }
        return kernels::convert<float>(in[offset * task.channels + channel]);
      };
      float total = taps[0].weight * value(taps[0]);
      for (int64_t k = 1; k < task.num_taps; ++k) total += taps[k].weight * value(taps[k]);
      store_float(task.out, task.out_dtype, i, total);
    });
  }
};

}  // namespace torchdali::gpu
