// SPDX-License-Identifier: Apache-2.0
// The inner loops of warping over blocks of pixels, compiled once per instruction set.
#pragma once

#include "kernels/warp/warp.h"

namespace torchdali::kernels {

// An image as the fixed-point loop reads it: uint8, at least 2 x 2 pixels of up to 4 channels,
// fewer than 2^31 bytes.
struct FixedImage {
  const uint8_t* data;
  int32_t height, width, channels;
  uint8_t fill[4];
};

struct WarpRowKernels {
  void (*affine)(float step, float base, int64_t first, int64_t n, float* x);
  void (*perspective)(const float* steps, const float* bases, int64_t first, int64_t n, float* x,
                      float* y);
  void (*sphere)(const SphereMap& map, int64_t row, int64_t first, int64_t n, float* x, float* y);
  // Border::kClamp or kConstant.
  void (*taps)(const float* at, int64_t n, int32_t extent, bool clamp, WarpTaps& taps);
  // Index of the pixel that a position is in; -1 outside unless `clamp`.
  void (*nearest)(const float* at, int64_t n, int32_t extent, bool clamp, int32_t* index);
  // Pixels of 3 bytes from rows of `row` bytes; `bytes` is the size of the image, less than 2^31.
  // `fill` is written if an index is negative.
  void (*copy_rgb)(const uint8_t* data, int64_t bytes, int32_t row, const uint8_t* fill,
                   const int32_t* x, const int32_t* y, int64_t n, uint8_t* out);
  void (*linear_fixed)(const FixedImage& image, const WarpTaps& x, const WarpTaps& y, int64_t n,
                       uint8_t* out);
};
const WarpRowKernels& warp_row_kernels();

}  // namespace torchdali::kernels
