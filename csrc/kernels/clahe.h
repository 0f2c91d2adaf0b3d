// SPDX-License-Identifier: Apache-2.0
// Contrast limited adaptive histogram equalization of one channel. Source: K. Zuiderveld, "Contrast
// Limited Adaptive Histogram Equalization", Graphics Gems IV, 1994, in the form of OpenCV's CLAHE:
// its borders, clipping and rounding.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

struct ClaheOptions {
  int64_t tiles_y, tiles_x;  // 1 or more
  int bins;                  // 1 to 256
  float clip_limit;          // in units of the mean of a histogram; 0 or less: none
};

// A column of the image: the tiles whose middles are left and right of it.
struct ClaheColumn {
  int64_t left, right;
  float weight;  // of the right one
};

// `out` and `in` are [height, width], neither of which is 0, and may be the same. `tables` has room
// for tiles_y * tiles_x * bins bytes, `columns` for `width`.
void clahe(uint8_t* out, const uint8_t* in, int64_t height, int64_t width,
           const ClaheOptions& options, uint8_t* tables, ClaheColumn* columns);

}  // namespace torchdali::kernels
