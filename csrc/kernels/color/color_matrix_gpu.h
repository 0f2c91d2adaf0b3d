// SPDX-License-Identifier: Apache-2.0
// Linear maps of colors on the GPU, as kernels/color/color_matrix.h computes them.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

// Three interleaved channels. A single input channel serves as all three; a single output channel
// is the first. `size` counts pixels.
struct ColorMatrixTask : TypedTask {
  int in_channels = 3, out_channels = 3;
  float m[3][3] = {};
  float offset[3] = {};
};
struct ColorMatrixKernel : Kernel<ColorMatrixTask> {
  static constexpr int kElementsPerCall = 4;  // pixels
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t pixel = i * kElementsPerCall;
    if (task.in_channels == 3 && task.out_channels == 3) {
      float x[3 * kElementsPerCall], y[3 * kElementsPerCall];
      load_run(task.in, task.in_dtype, 3 * pixel, 3 * task.size, x);
      TORCHDALI_UNROLL
      for (int p = 0; p < kElementsPerCall; ++p)
        for (int c = 0; c < 3; ++c) y[3 * p + c] = map(c, x + 3 * p);
      store_run(task.out, task.out_dtype, 3 * pixel, 3 * task.size, y);
      return;
    }
    for (int64_t p = pixel; p < pixel + kElementsPerCall && p < task.size; ++p) {
      float x[3];
      const bool color = task.in_channels == 3;
      for (int c = 0; c < 3; ++c) x[c] = load_float(task.in, task.in_dtype, color ? 3 * p + c : p);
      for (int c = 0; c < task.out_channels; ++c)
        store_float(task.out, task.out_dtype, task.out_channels * p + c, map(c, x));
    }
  }

 private:
  TORCHDALI_HOST_DEVICE float map(int c, const float* x) const {
    const float* m = task.m[c];
    return m[0] * x[0] + m[1] * x[1] + m[2] * x[2] + task.offset[c];
  }
};
TORCHDALI_GPU_KERNEL(ColorMatrixKernel)

}  // namespace torchdali::gpu
