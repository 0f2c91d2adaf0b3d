// SPDX-License-Identifier: Apache-2.0
// Rows of pictures to pixels. Luma and chroma to RGB, which is nearly all there is, is computed
// from samples to pixels in registers (yuv_blocks.h). Of the rest, the samples of some pixels
// become rows of centered 16-bit numbers, whatever they were, and these become pixels: loops that
// compilers vectorize.
#include "kernels/video/to_rgb.h"

#include <algorithm>
#include <cstring>

#include "kernels/video/picture_rows.h"

#define TORCHDALI_ISA_FILE "kernels/video/to_rgb_cpu.cpp"
#include "kernels/foreach_isa.h"

#ifndef TORCHDALI_TO_RGB_ONCE
#define TORCHDALI_TO_RGB_ONCE
namespace torchdali::kernels {
namespace {

// What is done to a picture: everything but the region.
struct Conversion {
  Conversion(const Picture& p, PixelOutput output)
      : rows(p),
        map(pixel_map(p, output)),
        shift(16 - p.bits - p.low_zeros),
        channels(channels_of(output)),
        yuv_to_rgb(p.model == PictureModel::kYuv && output == PixelOutput::kRGB &&
                   (p.chroma_shift_x == 1 || (p.chroma_shift_x == 0 && !p.interleaved_chroma))) {}
  PictureRows rows;
  PixelMap map;
  int shift;  // bits that a stored sample lacks to 16
  int channels;
  bool yuv_to_rgb;  // and yuv_blocks.h can do it
};

constexpr int kBlock = 256;

}  // namespace
}  // namespace torchdali::kernels
#endif

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL > 0

#include "kernels/interleave_lanes.h"
#include "kernels/video/yuv_blocks.h"

void yuv_to_rgb(const Conversion& c, const PictureRegion& region, uint8_t* out,
                int64_t row_stride) {
  const auto row =
      c.rows.sample_bytes() == 2 ? row_function<Words>(c.rows) : row_function<Bytes>(c.rows);
  for (int i = 0; i < region.height; ++i, out += row_stride) {
    const int y = region.y + i;
    const uint8_t *u = c.rows.at(1, region.x, y), *v = c.rows.at(2, region.x, y);
    if (c.rows.step[1] == 2) u = std::min(u, v);
    row(c.map, c.shift, c.rows.at(0, region.x, y), u, v, region.width, out);
  }
}

#endif

// `n` samples of 1 or 2 bytes, `step` samples apart.
template <typename T, int kStep>
void center_each(const uint8_t* __restrict from, int step, int shift, int n,
                 int16_t* __restrict out) {
  const int64_t bytes = (kStep ? kStep : step) * static_cast<int64_t>(sizeof(T));
  for (int i = 0; i < n; ++i) {
    T sample;
    std::memcpy(&sample, from + i * bytes, sizeof(T));
    out[i] = yuv_scalar::centered(sample, shift);
  }
}

// The samples of kind k for the pixels from (x, y) on.
template <typename T>
void center(const Conversion& c, int k, int x, int y, int n, int16_t* __restrict out) {
  const PictureRows& rows = c.rows;
  if (!rows.first[k]) {
    std::fill(out, out + n, int16_t{0});
    return;
  }
  const auto each = rows.step[k] == 1   ? &center_each<T, 1>
                    : rows.step[k] == 2 ? &center_each<T, 2>
                                        : &center_each<T, 0>;
  const uint8_t* from = rows.at(k, x, y);
  const int shift_x = rows.shift_x[k];
  if (shift_x == 0) {
    each(from, rows.step[k], c.shift, n, out);
    return;
  }
  int16_t columns[kBlock];
  const int first = x >> shift_x, count = ((x + n - 1) >> shift_x) - first + 1;
  each(from, rows.step[k], c.shift, count, columns);
  for (int i = 0; i < n; ++i) out[i] = columns[((x + i) >> shift_x) - first];
}

// One channel of `n` pixels.
void map_channel(const PixelMap& map, int channel, const int16_t (&in)[3][kBlock], int n,
                 uint8_t* __restrict out) {
  for (int i = 0; i < n; ++i)
    out[i] = yuv_scalar::channel(map, channel, in[0][i], in[1][i], in[2][i]);
}

template <typename T>
void convert_samples(const Conversion& c, const PictureRegion& region, uint8_t* out,
                     int64_t row_stride) {
  int16_t in[3][kBlock];
  uint8_t planes[3][kBlock];
  for (int y = 0; y < region.height; ++y, out += row_stride) {
    uint8_t* to = out;
    for (int x = 0; x < region.width; x += kBlock) {
      const int n = std::min(kBlock, region.width - x);
      for (int k = 0; k < 3; ++k) center<T>(c, k, region.x + x, region.y + y, n, in[k]);
      if (c.channels == 1) {
        map_channel(c.map, 0, in, n, to);
        to += n;
        continue;
      }
      for (int channel = 0; channel < 3; ++channel)
        map_channel(c.map, channel, in, n, planes[channel]);
      for (int i = 0; i < n; ++i, to += 3)
        for (int channel = 0; channel < 3; ++channel) to[channel] = planes[channel][i];
    }
  }
}

void convert(const Conversion& c, PictureRegion region, uint8_t* out, int64_t row_stride) {
  const auto general =
      c.rows.sample_bytes() == 2 ? &convert_samples<uint16_t> : &convert_samples<uint8_t>;
#if TORCHDALI_ISA_LEVEL > 0
  if (c.yuv_to_rgb) {
    if (c.rows.shift_x[1] == 1 && region.x % 2 == 1 && region.width > 0) {
      // The second of two pixels that share chroma.
      general(c, {region.x, region.y, 1, region.height}, out, row_stride);
      ++region.x;
      --region.width;
      out += 3;
    }
    yuv_to_rgb(c, region, out, row_stride);
    return;
  }
#endif
  general(c, region, out, row_stride);
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void picture_to_pixels(const Picture& picture, const PictureRegion& region, PixelOutput output,
                       uint8_t* out, int64_t row_stride) {
  TORCHDALI_ISA_PICK(convert)({picture, output}, region, out, row_stride);
}
#endif

}  // namespace torchdali::kernels
