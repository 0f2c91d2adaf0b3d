// SPDX-License-Identifier: Apache-2.0
// The sink of a resampling that stands alone. A sink is called once for each pixel of the result,
// in any order, and decides what is done with the weighted sums.
#pragma once

#include "kernels/gpu/runs.h"
#include "kernels/resample/resample_task.h"

namespace torchdali::gpu {

// Stores the sums as the result.
struct StoreSums {
  const ResampleTask& task;

  // Pixels x to x + count of a row of the output, as many as `sums` has room for or fewer; rows are
  // counted through slices and frames.
  template <int kChannels, int kSums>
  TORCHDALI_HOST_DEVICE void pixels(int64_t row, int64_t x, int count,
                                    const float (&sums)[kSums]) const {
    const int64_t pixel = row * task.axes[2].out + x;
    store_run(task.out, task.out_dtype, pixel * kChannels, (pixel + count) * kChannels, sums);
  }
  // Channels c to c + count of pixel x.
  template <int kSums>
  TORCHDALI_HOST_DEVICE void channels(int64_t row, int64_t x, int64_t c, int count,
                                      const float (&sums)[kSums]) const {
    const int64_t first = (row * task.axes[2].out + x) * task.channels + c;
    for (int k = 0; k < count; ++k) store_float(task.out, task.out_dtype, first + k, sums[k]);
  }
};

}  // namespace torchdali::gpu
