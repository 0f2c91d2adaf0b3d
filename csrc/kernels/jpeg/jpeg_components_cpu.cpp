// SPDX-License-Identifier: Apache-2.0
// RGB to YCbCr, with chroma at half the resolution. Two of the three samples of a pixel are a pair
// of 16-bit numbers, whose products pmaddwd adds; factors that do not fit are divided among two
// pairs.
#include <algorithm>
#include <cstring>

#include "kernels/jpeg/jpeg_distortion.h"

#define TORCHDALI_ISA_FILE "kernels/jpeg/jpeg_components_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL > 0

#if TORCHDALI_ISA_LEVEL == 2
#define TORCHDALI_MM(op) _mm512_##op
using Wide = __m512i;
inline Wide load_wide(const void* p) { return _mm512_loadu_si512(p); }
inline Wide repeated(const void* p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
// Four pixels to each 128 bits.
inline Wide load_pixels(const uint8_t* p) {
  return _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12), load_wide(p));
}
// x: a quarter of the samples of each of four registers in turn, in each 128 bits.
inline void store_luma(Wide x, uint8_t* out) {
  const Wide order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(out, _mm512_permutexvar_epi32(order, x));
}
// The same for pairs of samples, Cb in the low and Cr in the high half of each 128 bits.
inline void store_chroma(Wide x, uint8_t* cb, uint8_t* cr) {
  alignas(64) static constexpr auto kOrder = [] {
    struct Table {
      int16_t at[32];
    } t{};
    for (int i = 0; i < 32; ++i)
      t.at[i] = static_cast<int16_t>(8 * (i % 4) + i / 16 * 4 + i / 4 % 4);
    return t;
  }();
  const Wide y = _mm512_permutexvar_epi16(load_wide(kOrder.at), x);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(cb), _mm512_castsi512_si256(y));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(cr), _mm512_extracti64x4_epi64(y, 1));
}
#else
#define TORCHDALI_MM(op) _mm256_##op
using Wide = __m256i;
inline Wide load_wide(const void* p) { return _mm256_loadu_si256(static_cast<const Wide*>(p)); }
inline Wide repeated(const void* p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
inline Wide load_pixels(const uint8_t* p) {
  return _mm256_permutevar8x32_epi32(load_wide(p), _mm256_setr_epi32(0, 1, 2, 3, 3, 4, 5, 6));
}
inline void store_luma(Wide x, uint8_t* out) {
  const Wide order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<Wide*>(out), _mm256_permutevar8x32_epi32(x, order));
}
inline void store_chroma(Wide x, uint8_t* cb, uint8_t* cr) {
  alignas(16) static constexpr int8_t kOrder[16] = {0, 1, 8,  9,  2, 3, 10, 11,
                                                    4, 5, 12, 13, 6, 7, 14, 15};
  const Wide y = _mm256_shuffle_epi8(_mm256_permute4x64_epi64(x, 0xD8), repeated(kOrder));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(cb), _mm256_castsi256_si128(y));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(cr), _mm256_extracti128_si256(y, 1));
}
#endif

inline Wide pair(int a, int b) {
  return TORCHDALI_MM(set1_epi32)(static_cast<int32_t>(
      static_cast<uint32_t>(static_cast<uint16_t>(b)) << 16 | static_cast<uint16_t>(a)));
}

inline Wide sum(Wide first, Wide a, Wide second, Wide b, int offset) {
  const Wide products = TORCHDALI_MM(add_epi32)(TORCHDALI_MM(madd_epi16)(first, a),
                                                TORCHDALI_MM(madd_epi16)(second, b));
  return TORCHDALI_MM(srli_epi32)(
      TORCHDALI_MM(add_epi32)(products, TORCHDALI_MM(set1_epi32)(offset)), 16);
}

struct Components {
  Wide y, cb, cr;
};

// A quarter of a step. Numbers of 32 bits.
inline Components convert(const uint8_t* rgb) {
  alignas(16) static constexpr int8_t kPairs[3][16] = {
      {0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1},
      {1, -1, 2, -1, 4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1},
      {0, -1, 2, -1, 3, -1, 5, -1, 6, -1, 8, -1, 9, -1, 11, -1}};
  const Wide x = load_pixels(rgb);
  const Wide rg = TORCHDALI_MM(shuffle_epi8)(x, repeated(kPairs[0]));
  const Wide gb = TORCHDALI_MM(shuffle_epi8)(x, repeated(kPairs[1]));
  const Wide rb = TORCHDALI_MM(shuffle_epi8)(x, repeated(kPairs[2]));
  using jpeg_distortion::kChromaOffset, jpeg_distortion::kFactors, jpeg_distortion::kLumaOffset;
  constexpr int kHalf = 1 << 14;  // of the factors that are 1 << 15 or nearly
  return {sum(rg, pair(kFactors[0][0], kFactors[0][1] - kHalf), gb, pair(kHalf, kFactors[0][2]),
              kLumaOffset),
          sum(rb, pair(kFactors[1][0], kFactors[1][2] - kHalf), gb, pair(kFactors[1][1], kHalf),
              kChromaOffset),
          sum(rg, pair(kFactors[2][0] - kHalf, kFactors[2][1]), rb, pair(kHalf, kFactors[2][2]),
              kChromaOffset)};
}

// Half a step of a row: numbers of 16 bits.
inline Components convert_half(const uint8_t* rgb) {
  const Components a = convert(rgb), b = convert(rgb + sizeof(Wide) / 4 * 3);
  return {TORCHDALI_MM(packs_epi32)(a.y, b.y), TORCHDALI_MM(packs_epi32)(a.cb, b.cb),
          TORCHDALI_MM(packs_epi32)(a.cr, b.cr)};
}

// A step: as many pixels of two rows as a register has bytes. Reads up to 16 bytes more.
inline void convert_step(const uint8_t* const rgb[2], uint8_t* const y[2], uint8_t* cb,
                         uint8_t* cr) {
  const Wide one = TORCHDALI_MM(set1_epi16)(1);
  alignas(16) static constexpr int32_t kBias[4] = {1, 2, 1, 2};
  const Wide bias = repeated(kBias);
  Wide blue[2], red[2], luma[2][2];
  for (int half = 0; half < 2; ++half) {
    const int64_t skip = half * static_cast<int64_t>(sizeof(Wide)) / 2 * 3;
    const Components a = convert_half(rgb[0] + skip), b = convert_half(rgb[1] + skip);
    luma[0][half] = a.y;
    luma[1][half] = b.y;
    const auto quarter = [&](Wide above, Wide below) {
      const Wide sums = TORCHDALI_MM(madd_epi16)(TORCHDALI_MM(add_epi16)(above, below), one);
      return TORCHDALI_MM(srli_epi32)(TORCHDALI_MM(add_epi32)(sums, bias), 2);
    };
    blue[half] = quarter(a.cb, b.cb);
    red[half] = quarter(a.cr, b.cr);
  }
  for (int row = 0; row < 2; ++row)
    store_luma(TORCHDALI_MM(packus_epi16)(luma[row][0], luma[row][1]), y[row]);
  store_chroma(TORCHDALI_MM(packus_epi16)(TORCHDALI_MM(packs_epi32)(blue[0], blue[1]),
                                          TORCHDALI_MM(packs_epi32)(red[0], red[1])),
               cb, cr);
}
#undef TORCHDALI_MM
constexpr int64_t kStep = sizeof(Wide);

#else

constexpr int64_t kStep = 16;
inline void convert_step(const uint8_t* const rgb[2], uint8_t* const y[2], uint8_t* cb,
                         uint8_t* cr) {
  using jpeg_distortion::component_of;
  for (int row = 0; row < 2; ++row)
    for (int64_t i = 0; i < kStep; ++i) y[row][i] = component_of(rgb[row] + 3 * i, 0);
  for (int c = 1; c < 3; ++c) {
    for (int64_t i = 0; i < kStep / 2; ++i) {
      int sum = 1 + i % 2;
      for (int row = 0; row < 2; ++row)
        for (int k = 0; k < 2; ++k) sum += component_of(rgb[row] + 6 * i + 3 * k, c);
      (c == 1 ? cb : cr)[i] = static_cast<uint8_t>(sum >> 2);
    }
  }
}

#endif

void components(const uint8_t* const rgb[2], int64_t n, uint8_t* const y[2], uint8_t* cb,
                uint8_t* cr) {
  constexpr int64_t kMore = 16;
  int64_t i = 0;
  const auto step = [&](const uint8_t* first, const uint8_t* second) {
    const uint8_t* const from[2] = {first, second};
    uint8_t* const to[2] = {y[0] + i, y[1] + i};
    convert_step(from, to, cb + i / 2, cr + i / 2);
  };
  for (; 3 * (i + kStep) + kMore <= 3 * n; i += kStep) step(rgb[0] + 3 * i, rgb[1] + 3 * i);
  uint8_t rest[2][3 * kStep + kMore] = {};
  for (; i < n; i += kStep) {
    const int64_t left = std::min(n - i, kStep);
    for (int row = 0; row < 2; ++row) {
      std::memcpy(rest[row], rgb[row] + 3 * i, static_cast<size_t>(3 * left));
      for (int64_t k = 3 * left; k < 3 * kStep; ++k) rest[row][k] = rest[row][k - 3];
    }
    step(rest[0], rest[1]);
  }
  // Whole groups of blocks. The last of a step is the last of the row, or repeats it.
  for (int row = 0; row < 2; ++row)
    for (int64_t k = i; k % jpeg_distortion::kColumns != 0; ++k) y[row][k] = y[row][i - 1];
  for (int64_t k = i / 2; 2 * k % jpeg_distortion::kColumns != 0; ++k) {
    cb[k] = cb[i / 2 - 1];
    cr[k] = cr[i / 2 - 1];
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void jpeg_distortion::components(const uint8_t* const rgb[2], int64_t n, uint8_t* const y[2],
                                 uint8_t* cb, uint8_t* cr) {
  TORCHDALI_ISA_PICK(components)(rgb, n, y, cb, cr);
}
#endif

}  // namespace torchdali::kernels
