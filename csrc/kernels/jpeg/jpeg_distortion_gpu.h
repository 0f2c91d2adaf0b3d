// SPDX-License-Identifier: Apache-2.0
// What JPEG compression does to samples: jpeg_compression_distortion.
#pragma once

#include "kernels/gpu/functor.h"
#include "kernels/jpeg/jpeg_distortion.h"
#include "kernels/jpeg/jpeg_idct_scalar.h"

namespace torchdali::gpu {

struct JpegDistortionGrid {
  const JpegDistortionTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const JpegDistortionTask& task = tasks[t];
    if (task.blocks) block(task, i);
    else sample(task, i);
  }

 private:
  // Element `i` of the planes one after the other, of `size` elements to one.
  TORCHDALI_HOST_DEVICE static int plane_of(const JpegDistortionTask& task, int64_t size,
                                            int64_t& i) {
    int c = 0;
    for (; c < 2; ++c) {
      const int64_t count = task.planes[c].rows * task.planes[c].columns / size;
      if (i < count) break;
      i -= count;
    }
    return c;
  }
  TORCHDALI_HOST_DEVICE static void sample(const JpegDistortionTask& task, int64_t i) {
    const int c = plane_of(task, 1, i);
    Unravel index(i);
    const int64_t x = index.axis(task.planes[c].columns), y = index.rest();
    task.planes[c].samples[i] = kernels::jpeg_distortion::sample_of(
        static_cast<const uint8_t*>(task.in), task.height, task.width, c, x, y);
  }
  TORCHDALI_HOST_DEVICE static void block(const JpegDistortionTask& task, int64_t i) {
    namespace forward = kernels::jpeg_distortion;
    namespace back = kernels::jpeg_idct_scalar;
    const int c = plane_of(task, 64, i);
    const int64_t stride = task.planes[c].columns;
    Unravel index(i);
    const int64_t x = index.axis(stride / 8), y = index.rest();
    uint8_t* at = task.planes[c].samples + y * 8 * stride + x * 8;
    const uint8_t* quant = task.quant[c == 0 ? 0 : 1];
    int32_t work[64];
    for (int row = 0; row < 8; ++row) {
      for (int k = 0; k < 8; ++k) work[row * 8 + k] = at[row * stride + k] - 128;
      forward::forward_one<true>(work + row * 8, 1);
    }
    int16_t numbers[64];
    for (int column = 0; column < 8; ++column) {
      forward::forward_one<false>(work + column, 8);
      for (int k = column; k < 64; k += 8) numbers[k] = forward::requantised(work[k], quant[k]);
      back::transform_one<back::kColumnShift>(numbers + column, 8);
    }
    for (int row = 0; row < 8; ++row) {
      back::transform_one<back::kRowShift>(numbers + row * 8, 1);
      for (int k = 0; k < 8; ++k) at[row * stride + k] = back::to_sample(numbers[row * 8 + k]);
    }
  }
};

}  // namespace torchdali::gpu
