// SPDX-License-Identifier: Apache-2.0
// Each sample is the mean of 2x2, 4x4 or 8x8 samples of the full transform, computed from the
// coefficients. With c(x, k) = sqrt(2) cos((2x + 1) k pi / 16), the weight of coefficient k in
// sample i of 8 / n is the sum of c(x, k) over the n values of x that i covers; many are zero.
// Columns, then rows, in the same fixed point as the full transform (jpeg_idct_cpu.cpp).
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/jpeg/jpeg_idct.h"

#define TORCHDALI_ISA_FILE "kernels/jpeg/jpeg_idct_scaled_cpu.cpp"
#include "kernels/foreach_isa.h"

#ifndef TORCHDALI_JPEG_IDCT_SCALED_ONCE
#define TORCHDALI_JPEG_IDCT_SCALED_ONCE
namespace torchdali::kernels {
namespace {

constexpr int kFraction = 13, kBetween = 2, kRow = kJpegGroup * 8;
constexpr double kToNearest = 0.5;  // of positive numbers
constexpr int16_t fix(double x) { return static_cast<int16_t>(x * (1 << kFraction) + kToNearest); }

// Four samples: weights of coefficients 2 and 6 in samples 0 and 3 (samples 1 and 2 have their
// negatives), and of 1, 3, 5, 7 in samples 0 and 1 (samples 3 and 2: their negatives).
constexpr int16_t kEven4[2] = {fix(1.847759065), -fix(0.765366865)};
constexpr int16_t kOuter4[4] = {fix(2.562915447), fix(0.899976223), -fix(0.601344887),
                                -fix(0.509795579)};
constexpr int16_t kInner4[4] = {fix(1.061594337), -fix(2.172734803), fix(1.451774981),
                                -fix(0.211164243)};
// Two samples: weights of 1, 3, 5, 7 in sample 0; sample 1 has their negatives.
constexpr int16_t kOdd2[4] = {fix(3.624509785), -fix(1.272758580), fix(0.850430095),
                              -fix(0.720959822)};

// The sum over n samples is n times too large, in each pass.
constexpr int log2_of(int n) { return n == 4 ? 2 : n == 2 ? 1 : 0; }
template <int kSize>
constexpr int kColumnShift = kFraction - kBetween + log2_of(8 / kSize);
template <int kSize>
constexpr int kRowShift = kFraction + kBetween + 3 + log2_of(8 / kSize);

// Sums may overflow 32 bits in an invalid file; they wrap, like those of vectors.
inline uint32_t product(int a, int b) {
  return static_cast<uint32_t>(a) * static_cast<uint32_t>(b);
}
inline uint32_t odd_sum(const int16_t* p, int step, const int16_t (&weights)[4]) {
  uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += product(p[(2 * i + 1) * step], weights[i]);
  return sum;
}

template <int kShift>
inline int descale(uint32_t x) {
  return static_cast<int32_t>(x + (1u << (kShift - 1))) >> kShift;
}
inline int16_t saturate(int x) { return static_cast<int16_t>(std::clamp(x, -32768, 32767)); }

// One row or column, numbers `step` apart, to kSize sums, as far apart. The definition.
template <int kSize>
inline void transform_one(int first, const int16_t* p, int step, uint32_t* out) {
  const uint32_t base = static_cast<uint32_t>(first) << (kFraction + log2_of(8 / kSize));
  if constexpr (kSize == 2) {
    const uint32_t odd = odd_sum(p, step, kOdd2);
    out[0] = base + odd;
    out[step] = base - odd;
  } else {
    const uint32_t even = product(p[2 * step], kEven4[0]) + product(p[6 * step], kEven4[1]);
    const uint32_t outer = odd_sum(p, step, kOuter4), inner = odd_sum(p, step, kInner4);
    out[0] = base + even + outer;
    out[step] = base - even + inner;
    out[2 * step] = base - even - inner;
    out[3 * step] = base + even - outer;
  }
}

inline uint8_t to_sample(int x) { return static_cast<uint8_t>(std::clamp(x, -128, 127) + 128); }

// One block of a group, one number at a time: without vectors, and for numbers that overflow.
// Overflows have the results of libjpeg-turbo's SIMD code: numbers are truncated to 16 bits between
// the passes, except in the first column of the smaller transform. In the larger one, a block whose
// other rows are zero takes a shortcut, which wraps.
template <int kSize>
void one_block(const int16_t* in, const int16_t* quant, uint8_t* out, int64_t stride) {
  int16_t work[64], between[kSize * 8];
  uint32_t sums[kSize * 8];
  bool flat = kSize == 4;
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      const int16_t c = in[y * kRow + x];
      work[y * 8 + x] = static_cast<int16_t>(c * quant[y * 8 + x]);
      flat = flat && (y == 0 || c == 0);
    }
  }
  for (int x = 0; x < 8; ++x) transform_one<kSize>(work[x], work + x, 8, sums + x);
  for (int i = 0; i < kSize * 8; ++i) between[i] = saturate(descale<kColumnShift<kSize>>(sums[i]));
  if (flat)
    for (int i = 0; i < kSize * 8; ++i)
      between[i] = static_cast<int16_t>(work[i % 8] * (1 << kBetween));
  for (int y = 0; y < kSize; ++y) {
    const int first = kSize == 2 ? descale<kColumnShift<kSize>>(sums[y * 8]) : between[y * 8];
    uint32_t row[kSize];
    transform_one<kSize>(first, between + y * 8, 1, row);
    for (int x = 0; x < kSize; ++x)
      out[y * stride + x] = to_sample(descale<kRowShift<kSize>>(row[x]));
  }
}

// The mean of a block is its DC coefficient. A value that is too large wraps in 10 bits, as in
// libjpeg-turbo's table.
inline uint8_t mean_sample(int16_t dc, int16_t quant) {
  const int mean = (dc * quant + 4) >> 3;
  return to_sample(((mean + 512) & 1023) - 512);
}

}  // namespace
}  // namespace torchdali::kernels
#endif

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL > 0

// Two blocks, one in each 128 bits. AVX-512 would have no horizontal sums.
using V = __m256i;

inline V load(const int16_t* p) { return _mm256_load_si256(reinterpret_cast<const V*>(p)); }
inline V load_row(const int16_t* in, const int16_t* quant, int y) {
  const V q =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(quant + y * 8)));
  return _mm256_mullo_epi16(load(in + y * kRow), q);
}
inline V pair(int16_t a, int16_t b) {
  return _mm256_set1_epi32(static_cast<int32_t>(
      static_cast<uint32_t>(static_cast<uint16_t>(b)) << 16 | static_cast<uint16_t>(a)));
}

// 32-bit numbers of the low and the high half of each 128 bits.
struct Wide {
  V low, high;
};
inline Wide operator+(Wide a, Wide b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
inline Wide operator-(Wide a, Wide b) {
  return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}
inline Wide dot(V x, V y, int16_t a, int16_t b) {
  return {_mm256_madd_epi16(_mm256_unpacklo_epi16(x, y), pair(a, b)),
          _mm256_madd_epi16(_mm256_unpackhi_epi16(x, y), pair(a, b))};
}
inline Wide dot(const V odd[4], const int16_t (&w)[4]) {
  return dot(odd[0], odd[1], w[0], w[1]) + dot(odd[2], odd[3], w[2], w[3]);
}
// x * 8 / kSize with all bits of the fraction.
template <int kSize>
inline Wide widen(V x) {
  constexpr int kShift = 16 - kFraction - log2_of(8 / kSize);
  const V zero = _mm256_setzero_si256();
  return {_mm256_srai_epi32(_mm256_unpacklo_epi16(zero, x), kShift),
          _mm256_srai_epi32(_mm256_unpackhi_epi16(zero, x), kShift)};
}
template <int kShift>
inline V shifted(V x) {
  return _mm256_srai_epi32(_mm256_add_epi32(x, _mm256_set1_epi32(1 << (kShift - 1))), kShift);
}
template <int kShift>
inline V narrow(Wide x) {
  return _mm256_packs_epi32(shifted<kShift>(x.low), shifted<kShift>(x.high));
}
inline V add_offset(V x) { return _mm256_add_epi8(x, _mm256_set1_epi8(-128)); }

// Weights of a row's eight numbers in one sample, for each of two blocks.
inline V row_weights(int16_t c0, int16_t c2, int16_t c6, const int16_t (&odd)[4], int sign) {
  const auto w = [&](int i) { return static_cast<int16_t>(sign * odd[i]); };
  const __m128i one = _mm_setr_epi16(c0, w(0), c2, w(1), 0, w(2), c6, w(3));
  return _mm256_broadcastsi128_si256(one);
}

inline void two_blocks(const int16_t* in, const int16_t* quant, uint8_t* out, int64_t stride,
                       std::integral_constant<int, 4>) {
  const V r2 = load_row(in, quant, 2), r6 = load_row(in, quant, 6);
  V odd[4];
  for (int i = 0; i < 4; ++i) odd[i] = load_row(in, quant, 2 * i + 1);
  const Wide base = widen<4>(load_row(in, quant, 0)), even = dot(r2, r6, kEven4[0], kEven4[1]);
  const Wide outer = dot(odd, kOuter4), inner = dot(odd, kInner4);
  constexpr int kShift = kColumnShift<4>;
  const V rows[4] = {narrow<kShift>(base + even + outer), narrow<kShift>(base - even + inner),
                     narrow<kShift>(base - even - inner), narrow<kShift>(base + even - outer)};
  constexpr int16_t kOne = 2 << kFraction;
  const V weights[4] = {row_weights(kOne, kEven4[0], kEven4[1], kOuter4, 1),
                        row_weights(kOne, -kEven4[0], -kEven4[1], kInner4, 1),
                        row_weights(kOne, -kEven4[0], -kEven4[1], kInner4, -1),
                        row_weights(kOne, kEven4[0], kEven4[1], kOuter4, -1)};
  V sums[4];
  for (int y = 0; y < 4; ++y) {
    V s[4];
    for (int i = 0; i < 4; ++i) s[i] = _mm256_madd_epi16(rows[y], weights[i]);
    sums[y] = shifted<kRowShift<4>>(
        _mm256_hadd_epi32(_mm256_hadd_epi32(s[0], s[1]), _mm256_hadd_epi32(s[2], s[3])));
  }
  const V bytes = add_offset(_mm256_packs_epi16(_mm256_packs_epi32(sums[0], sums[1]),
                                                _mm256_packs_epi32(sums[2], sums[3])));
  const __m128i a = _mm256_castsi256_si128(bytes), b = _mm256_extracti128_si256(bytes, 1);
  const __m128i low = _mm_unpacklo_epi32(a, b), high = _mm_unpackhi_epi32(a, b);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), low);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out + stride), _mm_unpackhi_epi64(low, low));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 2 * stride), high);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 3 * stride), _mm_unpackhi_epi64(high, high));
}

inline void two_blocks(const int16_t* in, const int16_t* quant, uint8_t* out, int64_t stride,
                       std::integral_constant<int, 2>) {
  V odd[4];
  for (int i = 0; i < 4; ++i) odd[i] = load_row(in, quant, 2 * i + 1);
  const Wide base = widen<2>(load_row(in, quant, 0)), sum = dot(odd, kOdd2);
  constexpr int kShift = kColumnShift<2>;
  const Wide top = base + sum, bottom = base - sum;
  const V row0 = narrow<kShift>(top), row1 = narrow<kShift>(bottom);
  const V weights = row_weights(0, 0, 0, kOdd2, 1);
  const V pairs =
      _mm256_hadd_epi32(_mm256_madd_epi16(row0, weights), _mm256_madd_epi16(row1, weights));
  const V odds = _mm256_hadd_epi32(pairs, pairs);  // of row 0, of row 1, and again
  // The first numbers of both rows, before they saturate.
  const V bases = _mm256_slli_epi32(
      _mm256_unpacklo_epi32(shifted<kShift>(top.low), shifted<kShift>(bottom.low)), kFraction + 2);
  const V sums = shifted<kRowShift<2>>(
      _mm256_unpacklo_epi32(_mm256_add_epi32(bases, odds), _mm256_sub_epi32(bases, odds)));
  const V words = _mm256_packs_epi32(sums, sums);
  const V bytes = add_offset(_mm256_packs_epi16(words, words));
  const __m128i both =
      _mm_unpacklo_epi16(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  const int rows[2] = {_mm_cvtsi128_si32(both), _mm_extract_epi32(both, 1)};
  std::memcpy(out, &rows[0], 4);
  std::memcpy(out + stride, &rows[1], 4);
}

// Above this the first row overflows between the passes, and shortcuts change results.
inline bool overflows(const int16_t* in, const int16_t* quant) {
  const V r0 = load_row(in, quant, 0), bound = _mm256_set1_epi16(32767 >> kBetween);
  const V negative = _mm256_sub_epi16(_mm256_setzero_si256(), bound);
  return _mm256_movemask_epi8(
             _mm256_or_si256(_mm256_cmpgt_epi16(r0, bound), _mm256_cmpgt_epi16(negative, r0))) != 0;
}

template <int kSize>
void transform_group(const int16_t* in, const int16_t* quant, uint8_t* out, int64_t stride) {
  for (int b = 0; b < kJpegGroup; b += 2, in += 16, out += 2 * kSize) {
    if (kSize == 4 && overflows(in, quant)) [[unlikely]] {
      one_block<kSize>(in, quant, out, stride);
      one_block<kSize>(in + 8, quant, out + kSize, stride);
    } else {
      two_blocks(in, quant, out, stride, std::integral_constant<int, kSize>());
    }
  }
}

#else

template <int kSize>
void transform_group(const int16_t* in, const int16_t* quant, uint8_t* out, int64_t stride) {
  for (int b = 0; b < kJpegGroup; ++b) one_block<kSize>(in + b * 8, quant, out + b * kSize, stride);
}

#endif

template <int kSize>
void idct_scaled(int16_t* coefficients, const uint8_t* last, int64_t groups, const int16_t* quant,
                 uint8_t* out, int64_t stride) {
  for (int64_t g = 0; g < groups; ++g) {
    uint32_t any;
    std::memcpy(&any, last, sizeof(any));
    if constexpr (kSize == 1)
      for (int b = 0; b < kJpegGroup; ++b) out[b] = mean_sample(coefficients[b * 8], quant[0]);
    else transform_group<kSize>(coefficients, quant, out, stride);
    if (any != 0) std::memset(coefficients, 0, kJpegGroupSize * sizeof(*coefficients));
    else
      for (int b = 0; b < kJpegGroup; ++b) coefficients[b * 8] = 0;
    coefficients += kJpegGroupSize;
    last += kJpegGroup;
    out += kJpegGroup * kSize;
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void jpeg_idct_scaled(int size, int16_t* coefficients, const uint8_t* last, int64_t groups,
                      const int16_t* quant, uint8_t* out, int64_t stride) {
  const auto run = size == 4   ? TORCHDALI_ISA_PICK(idct_scaled<4>)
                   : size == 2 ? TORCHDALI_ISA_PICK(idct_scaled<2>)
                               : TORCHDALI_ISA_PICK(idct_scaled<1>);
  run(coefficients, last, groups, quant, out, stride);
}
#endif

}  // namespace torchdali::kernels
