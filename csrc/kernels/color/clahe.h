// SPDX-License-Identifier: Apache-2.0
// Contrast limited adaptive histogram equalization of one channel. Source: K. Zuiderveld, "Contrast
// Limited Adaptive Histogram Equalization", Graphics Gems IV, 1994, with the borders, clipping and
// rounding of OpenCV's CLAHE.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

struct ClaheOptions {
  int64_t tiles_y = 1, tiles_x = 1;  // 1 or more
  int bins = 256;                    // 1 to 256
  float clip_limit = 0;              // in units of the mean of a histogram; 0 or less: none
};
// How an image is divided into tiles, which may reach beyond it.
struct ClaheTiles {
  ClaheOptions options = {};
  int64_t height = 1, width = 1;
  int64_t rows = 1, columns = 1;  // of a tile
  constexpr int64_t count() const { return options.tiles_y * options.tiles_x; }
};
ClaheTiles clahe_tiles(int64_t height, int64_t width, const ClaheOptions& options);

// A column of the image: the tiles whose centers are left and right of it.
struct ClaheColumn {
  int64_t left, right;
  float weight;  // of the right one
};

// `out` and `in` are [height, width], neither of which is 0, and may be the same. `tables` has room
// for tiles_y * tiles_x * bins bytes, `columns` for `width`.
void clahe(uint8_t* out, const uint8_t* in, int64_t height, int64_t width,
           const ClaheOptions& options, uint8_t* tables, ClaheColumn* columns);

}  // namespace torchdali::kernels
