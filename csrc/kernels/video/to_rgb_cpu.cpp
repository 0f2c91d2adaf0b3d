// SPDX-License-Identifier: Apache-2.0
// Rows of pictures to pixels. Samples of a few hundred pixels become rows of centered 16-bit
// numbers, whatever they were, and these become pixels.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/video/to_rgb.h"

#define TORCHDALI_ISA_FILE "kernels/video/to_rgb_cpu.cpp"
#include "kernels/foreach_isa.h"

#ifndef TORCHDALI_TO_RGB_ONCE
#define TORCHDALI_TO_RGB_ONCE
namespace torchdali::kernels {
namespace {

constexpr int kBlock = 256;

// Where a row of samples of one of the three kinds is.
struct SampleRow {
  const uint8_t* first = nullptr;  // that of column 0; null: all are in the middle
  int step = 1;                    // samples from column to column
  int shift_x = 0;                 // log2 of pixels that share a column
};

struct PictureRows {
  const uint8_t* first[3] = {};
  int64_t stride[3] = {};
  int step[3] = {1, 1, 1}, shift_x[3] = {}, shift_y[3] = {};

  SampleRow row(int k, int64_t y) const {
    if (!first[k]) return {};
    return {first[k] + (y >> shift_y[k]) * stride[k], step[k], shift_x[k]};
  }
};

PictureRows rows_of(const Picture& p) {
  PictureRows rows;
  const auto set = [&](int k, size_t plane, int step, int at) {
    const int bytes = p.bits > 8 ? 2 : 1;
    rows.first[k] = p.planes[plane] + at * bytes;
    rows.stride[k] = p.strides[plane];
    rows.step[k] = step;
  };
  switch (p.model) {
    case PictureModel::kRgbPacked:
      for (int k = 0; k < 3; ++k)
        set(k, 0, p.pixel_samples, p.sample_order[static_cast<size_t>(k)]);
      break;
    case PictureModel::kRgbPlanes:
      set(0, 2, 1, 0);
      set(1, 0, 1, 0);
      set(2, 1, 1, 0);
      break;
    case PictureModel::kGray: set(0, 0, 1, 0); break;
    case PictureModel::kYuv:
      set(0, 0, 1, 0);
      for (int k = 1; k < 3; ++k) {
        if (p.interleaved_chroma) set(k, 1, 2, p.sample_order[static_cast<size_t>(k - 1)]);
        else set(k, static_cast<size_t>(k), 1, 0);
        rows.shift_x[k] = p.chroma_shift_x;
        rows.shift_y[k] = p.chroma_shift_y;
      }
      break;
  }
  return rows;
}

}  // namespace
}  // namespace torchdali::kernels
#endif

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

template <typename T>
void center(const SampleRow& row, int shift, int x, int n, int16_t* __restrict out) {
  if (!row.first) {
    std::fill(out, out + n, int16_t{0});
    return;
  }
  for (int i = 0; i < n; ++i) {
    const uint8_t* at =
        row.first + static_cast<int64_t>((x + i) >> row.shift_x) * row.step * sizeof(T);
    unsigned sample = at[0];
    if constexpr (sizeof(T) == 2) sample |= static_cast<unsigned>(at[1]) << 8;
    out[i] = yuv_scalar::centered(sample, shift);
  }
}

template <int kChannels>
void map_rows(const PixelMap& map, const int16_t (&in)[3][kBlock], int n, uint8_t* __restrict out) {
  for (int c = 0; c < kChannels; ++c)
    for (int i = 0; i < n; ++i)
      out[kChannels * i + c] = yuv_scalar::channel(map, c, in[0][i], in[1][i], in[2][i]);
}

template <typename T>
void convert(const PictureRows& rows, const PixelMap& map, int shift, int channels,
             const PictureRegion& region, uint8_t* out, int64_t row_stride) {
  int16_t in[3][kBlock];
  for (int y = 0; y < region.height; ++y, out += row_stride) {
    for (int x = 0; x < region.width; x += kBlock) {
      const int n = std::min(kBlock, region.width - x);
      for (int k = 0; k < 3; ++k)
        center<T>(rows.row(k, region.y + y), shift, region.x + x, n, in[k]);
      uint8_t* to = out + static_cast<int64_t>(x) * channels;
      (channels == 1 ? map_rows<1> : map_rows<3>)(map, in, n, to);
    }
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void picture_to_pixels(const Picture& picture, const PictureRegion& region, PixelOutput output,
                       uint8_t* out, int64_t row_stride) {
  const PictureRows rows = rows_of(picture);
  const PixelMap map = pixel_map(picture, output);
  const int shift = 16 - picture.bits - picture.low_zeros;
  const int channels = channels_of(output);
  if (picture.bits > 8)
    TORCHDALI_ISA_PICK(convert<uint16_t>)(rows, map, shift, channels, region, out, row_stride);
  else TORCHDALI_ISA_PICK(convert<uint8_t>)(rows, map, shift, channels, region, out, row_stride);
}
#endif

}  // namespace torchdali::kernels
