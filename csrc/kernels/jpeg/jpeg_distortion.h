// SPDX-License-Identifier: Apache-2.0
// What JPEG compression does to samples, without entropy coding, which is lossless: RGB to YCbCr
// with chroma at half the resolution, forward DCT and quantization, with the default rounding of
// libjpeg-turbo; the inverse is that of the decoder. Source: ITU-T T.81, JFIF 1.02, and the DCT of
// C. Loeffler, A. Ligtenberg, G. Moschytz (ICASSP 1989).
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/jpeg/jpeg_idct_scalar.h"

namespace torchdali::kernels::jpeg_distortion {

// The largest side that libjpeg supports.
constexpr int64_t kMaxJpegSide = 65500;

// Compresses RGB pixels, [height, width, 3], with extents from 1 to kMaxJpegSide, at a quality of 1
// to 100 (the scale of the IJG), and decompresses them. `out` must differ from `in`.
void distort(uint8_t* out, const uint8_t* in, int64_t height, int64_t width, int quality);

// The example tables of T.81, K.1 and K.2, by rows: of luminance, and of both chrominances.
inline constexpr uint8_t kQuant[2][64] = {
    {16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,
     14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,
     18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,
     49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99},
    {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99,
     99, 99, 47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
     99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}};

// An entry of a table at a quality of 1 to 100, on the scale of the IJG.
constexpr uint8_t scaled_quant(uint8_t entry, int quality) {
  const int percent = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  return static_cast<uint8_t>(std::clamp((entry * percent + 50) / 100, 1, 255));
}

// A table at a quality, and what divides by 8 times its entries: the high half of the product with
// `reciprocal`, then of that with `scale`. The quotient is exact for 15 bits, because the
// reciprocal, rounded up, has 16 significant bits.
struct Quantization {
  Quantization(const uint8_t table[64], int quality);
  alignas(16) uint16_t quant[64], half[64], reciprocal[64], scale[64];
};

// DCT, quantization and back, in place: `groups` groups of four blocks side by side, 8 rows of 32
// samples, rows `stride` apart.
void requantize(uint8_t* samples, int64_t groups, int64_t stride, const Quantization& q);

// The samples of rows are padded to a multiple of this; those of chroma to half of it.
inline constexpr int64_t kColumns = 64;
// Two rows of `n` pixels to two rows of Y and one of each chroma, padded with the last pixel.
void components(const uint8_t* const rgb[2], int64_t n, uint8_t* const y[2], uint8_t* cb,
                uint8_t* cr);

// Component 0 (Y), 1 (Cb) or 2 (Cr) of a pixel. Factors in 65536ths; chroma is 128 for gray, and
// its halves are rounded down.
inline constexpr int kFactors[3][3] = {
    {19595, 38470, 7471}, {-11059, -21709, 32768}, {32768, -27439, -5329}};
inline constexpr int kLumaOffset = 1 << 15, kChromaOffset = (128 << 16) + (1 << 15) - 1;
constexpr uint8_t component_of(const uint8_t* rgb, int component) {
  int sum = component == 0 ? kLumaOffset : kChromaOffset;
  for (int c = 0; c < 3; ++c) sum += rgb[c] * kFactors[component][c];
  return static_cast<uint8_t>(sum >> 16);
}

// Sample (x, y) of a component. Outside the picture its last row and column are repeated.
constexpr uint8_t sample_of(const uint8_t* rgb, int64_t height, int64_t width, int component,
                            int64_t x, int64_t y) {
  const auto at = [&](int64_t row, int64_t column) {
    const int64_t r = std::min(row, height - 1), c = std::min(column, width - 1);
    return component_of(rgb + (r * width + c) * 3, component);
  };
  if (component == 0) return at(y, x);
  // The last row of chroma is repeated. Halves are alternately rounded up and down.
  const int64_t row = 2 * std::min(y, (height + 1) / 2 - 1), column = 2 * x;
  const int sum =
      at(row, column) + at(row, column + 1) + at(row + 1, column) + at(row + 1, column + 1);
  return static_cast<uint8_t>((sum + 1 + x % 2) >> 2);
}

// Fraction bits: of the constants, and additional ones between the passes.
inline constexpr int kFraction = 13, kBetween = 2;
inline constexpr double kToNearest = 0.5;  // of positive numbers
constexpr int fix(double x) { return static_cast<int>(x * (1 << kFraction) + kToNearest); }
constexpr int descale(int x, int bits) { return (x + (1 << (bits - 1))) >> bits; }

// One row (`first`: scaled up) or column, `step` numbers apart, in place. Afterwards the block is 8
// times its DCT.
template <bool kFirst>
constexpr void forward_one(int32_t* p, int step) {
  int32_t sum[4] = {}, difference[4] = {};
  for (int i = 0; i < 4; ++i) {
    sum[i] = p[i * step] + p[(7 - i) * step];
    difference[i] = p[i * step] - p[(7 - i) * step];
  }
  constexpr int kShift = kFirst ? kFraction - kBetween : kFraction + kBetween;
  const auto whole = [](int x) { return kFirst ? x * (1 << kBetween) : descale(x, kBetween); };
  const int outer = sum[0] + sum[3], inner = sum[1] + sum[2];
  const int far = sum[0] - sum[3], near = sum[1] - sum[2];
  p[0] = whole(outer + inner);
  p[4 * step] = whole(outer - inner);
  const int both = (near + far) * fix(0.541196100);
  p[2 * step] = descale(both + far * fix(0.765366865), kShift);
  p[6 * step] = descale(both - near * fix(1.847759065), kShift);
  // Of the differences 3, 2, 1 and 0.
  const int a = difference[3], b = difference[2], c = difference[1], d = difference[0];
  const int turn = (a + c + b + d) * fix(1.175875602);
  const int ad = -(a + d) * fix(0.899976223), bc = -(b + c) * fix(2.562915447);
  const int ac = turn - (a + c) * fix(1.961570560), bd = turn - (b + d) * fix(0.390180644);
  p[7 * step] = descale(a * fix(0.298631336) + ad + ac, kShift);
  p[5 * step] = descale(b * fix(2.053119869) + bc + bd, kShift);
  p[3 * step] = descale(c * fix(3.072711026) + bc + ac, kShift);
  p[step] = descale(d * fix(1.501321110) + ad + bd, kShift);
}

// A coefficient, quantized and dequantized: rounded to the nearest, halves away from 0.
constexpr int16_t requantized(int32_t x, int quant) {
  const int divisor = 8 * quant, size = ((x < 0 ? -x : x) + divisor / 2) / divisor;
  return static_cast<int16_t>((x < 0 ? -size : size) * quant);
}

// A block of samples, in place: DCT, quantization and back.
template <class Quant>
constexpr void requantize_block(uint8_t* at, int64_t stride, const Quant* quant) {
  namespace back = jpeg_idct_scalar;
  int32_t work[64] = {};
  for (int row = 0; row < 8; ++row) {
    for (int k = 0; k < 8; ++k) work[row * 8 + k] = at[row * stride + k] - 128;
    forward_one<true>(work + row * 8, 1);
  }
  int16_t numbers[64] = {};
  for (int column = 0; column < 8; ++column) {
    forward_one<false>(work + column, 8);
    for (int k = column; k < 64; k += 8) numbers[k] = requantized(work[k], quant[k]);
    back::transform_one<back::kColumnShift>(numbers + column, 8);
  }
  for (int row = 0; row < 8; ++row) {
    back::transform_one<back::kRowShift>(numbers + row * 8, 1);
    for (int k = 0; k < 8; ++k) at[row * stride + k] = back::to_sample(numbers[row * 8 + k]);
  }
}

}  // namespace torchdali::kernels::jpeg_distortion
