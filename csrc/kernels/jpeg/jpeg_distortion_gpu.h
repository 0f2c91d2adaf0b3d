// SPDX-License-Identifier: Apache-2.0
// What JPEG compression does to RGB images (kernels/jpeg/jpeg_distortion.h), up to the samples that
// a decoder would turn into pixels, in two launches: samples of the components, then the loss of
// their blocks.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/jpeg/jpeg_distortion.h"

namespace torchdali::gpu {

struct JpegDistortionTask : TaskBase {
  int64_t height = 0, width = 0;
  // Y, Cb and Cr, in whole blocks.
  struct Plane {
    uint8_t* samples = nullptr;
    int64_t rows = 0, columns = 0;
  };
  Plane planes[3] = {};
  uint8_t quant[2][64] = {};  // of Y, and of both others

  template <class Fn>
  void for_each_address(Fn&& fn) {
    for (Plane& plane : planes) fn(plane.samples);
  }
  // The plane of element `i` of all planes in turn, which have `size` samples an element. `i`
  // becomes its index in the plane.
  TORCHDALI_HOST_DEVICE int plane_of(int64_t size, int64_t& i) const {
    int c = 0;
    for (; c < 2; ++c) {
      const int64_t count = planes[c].rows * planes[c].columns / size;
      if (i < count) break;
      i -= count;
    }
    return c;
  }
};

// `size` counts samples.
struct JpegComponentsKernel : Kernel<JpegDistortionTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int c = task.plane_of(1, i);
    Unravel index(i);
    const int64_t x = index.axis(task.planes[c].columns), y = index.rest();
    task.planes[c].samples[i] = kernels::jpeg_distortion::sample_of(
        static_cast<const uint8_t*>(task.in), task.height, task.width, c, x, y);
  }
};
TORCHDALI_GPU_KERNEL(JpegComponentsKernel)

// DCT, quantization and back, in place. `size` counts blocks.
struct JpegRequantizeKernel : Kernel<JpegDistortionTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int c = task.plane_of(64, i);
    const int64_t stride = task.planes[c].columns;
    Unravel index(i);
    const int64_t x = index.axis(stride / 8), y = index.rest();
    uint8_t* at = task.planes[c].samples + y * 8 * stride + x * 8;
    kernels::jpeg_distortion::requantize_block(at, stride, task.quant[c == 0 ? 0 : 1]);
  }
};
TORCHDALI_GPU_KERNEL(JpegRequantizeKernel)

}  // namespace torchdali::gpu
