// SPDX-License-Identifier: Apache-2.0
// Picture: a decoded frame of a video, as planes of samples. docs/design/video.md.
#pragma once

#include <array>
#include <cstdint>

namespace torchdali::kernels {

enum class PictureModel : int8_t {
  kYuv,        // planes: Y, U, V; or Y and interleaved UV (VU), or Y and alpha, ...
  kGray,       // plane: Y
  kRgbPlanes,  // planes: G, B, R
  kRgbPacked,  // one plane of interleaved samples
};

// The matrix from RGB to YUV: ITU-R BT.601, BT.709 or BT.2020 with non-constant luminance.
enum class YuvMatrix : int8_t { kBt601, kBt709, kBt2020 };

// Owns nothing.
struct Picture {
  PictureModel model = PictureModel::kYuv;
  YuvMatrix matrix = YuvMatrix::kBt601;
  bool full_range = false;    // of kYuv and kGray: luma from 0 rather than from 16 (of 8 bits)
  int8_t bits = 8;            // of a sample; more than 8 are stored in 16 bits, little-endian
  int8_t low_zeros = 0;       // unused low bits of a stored sample, as 6 in P010
  int8_t chroma_shift_x = 0;  // log2 of luma columns for each column of chroma
  int8_t chroma_shift_y = 0;  // and of rows
  bool interleaved_chroma = false;  // plane 1 has U and V in turn (NV12)
  // kRgbPacked: samples of a pixel, and where R, G and B are; NV21: {1, 0} for U and V.
  int8_t pixel_samples = 3;
  std::array<int8_t, 3> sample_order = {0, 1, 2};

  int width = 0, height = 0;
  std::array<const uint8_t*, 3> planes = {};
  std::array<int64_t, 3> strides = {};  // bytes from row to row; may be negative
};

}  // namespace torchdali::kernels
