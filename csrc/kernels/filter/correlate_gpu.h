// SPDX-License-Identifier: Apache-2.0
// Correlation with any filter, on the GPU. Sums are computed in the order of the CPU's loops, so
// that results are bit-identical.
#pragma once

#include "kernels/border.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// Any filter: kernels/filter/correlate.h. Samples are [outer, D, H, W, channels], the output is
// dense.
struct CorrelateTap {
  int64_t at[3] = {};  // from the position in the output, D, H, W
  float weight = 0;
};
struct CorrelateTask : TypedTask {
  int64_t in_extents[3] = {}, out_extents[3] = {}, channels = 1;
  int64_t num_taps = 0;  // at least one
  BlobOffset taps = 0;   // CorrelateTap
  kernels::Border border = kernels::Border::kReflect101;
  float fill = 0;
};
struct CorrelateKernel : Kernel<CorrelateTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const auto* taps = list<CorrelateTap>(task.taps);
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
TORCHDALI_GPU_KERNEL(CorrelateKernel)

}  // namespace torchdali::gpu
