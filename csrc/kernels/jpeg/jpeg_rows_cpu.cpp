// SPDX-License-Identifier: Apache-2.0
// Upsampling in loops that compilers vectorize; color with intrinsics, which store three bytes per
// pixel. AVX-512 uses the AVX2 code: shuffles across 512 bits would not be faster.
#include <algorithm>
#include <cstring>

#include "kernels/jpeg/jpeg_rows.h"
#include "kernels/jpeg/jpeg_rows_scalar.h"

#define TORCHDALI_ISA_FILE "kernels/jpeg/jpeg_rows_cpu.cpp"
#include "kernels/foreach_isa.h"

#ifndef TORCHDALI_JPEG_ROWS_ONCE
#define TORCHDALI_JPEG_ROWS_ONCE
namespace torchdali::kernels {
namespace {

using namespace jpeg_rows_scalar;  // NOLINT(google-build-using-namespace)

}  // namespace
}  // namespace torchdali::kernels
#endif

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

void upsample(const JpegUpsampling& how, const uint8_t* __restrict near,
              const uint8_t* __restrict far, bool above, int64_t n, int16_t* __restrict sums,
              uint8_t* __restrict out) {
  if (!how.smooth) {
    if (how.across == 2) {
      for (int64_t i = 0; i < n; ++i) out[2 * i] = out[2 * i + 1] = near[i];
    } else {
      for (int64_t i = 0; i < n; ++i)
        for (int k = 0; k < how.across; ++k) out[how.across * i + k] = near[i];
    }
  } else if (how.down == 1) {
    for (int64_t i = 0; i < n; ++i) {
      const int x = 3 * near[i];
      out[2 * i] = static_cast<uint8_t>((x + near[i - 1] + 1) >> 2);
      out[2 * i + 1] = static_cast<uint8_t>((x + near[i + 1] + 2) >> 2);
    }
  } else if (how.across == 1) {
    // Halves are alternately rounded up and down, so that there is no bias.
    const int bias = above ? 1 : 2;
    for (int64_t i = 0; i < n; ++i)
      out[i] = static_cast<uint8_t>((3 * near[i] + far[i] + bias) >> 2);
  } else {
    for (int64_t i = -1; i <= n; ++i) sums[i + 1] = static_cast<int16_t>(3 * near[i] + far[i]);
    const int16_t* s = sums + 1;
    for (int64_t i = 0; i < n; ++i) {
      const int x = 3 * s[i];
      out[2 * i] = static_cast<uint8_t>((x + s[i - 1] + 8) >> 4);
      out[2 * i + 1] = static_cast<uint8_t>((x + s[i + 1] + 7) >> 4);
    }
  }
}

#if TORCHDALI_ISA_LEVEL > 0

#include "kernels/interleave_lanes.h"

// 16 numbers of 16 bits; the low and the high halves of each 128 bits of 32 bytes.
struct Halves {
  __m256i low, high;
};
inline Halves widen(const uint8_t* p, int offset) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i zero = _mm256_setzero_si256(), by = _mm256_set1_epi16(static_cast<int16_t>(offset));
  return {_mm256_sub_epi16(_mm256_unpacklo_epi8(x, zero), by),
          _mm256_sub_epi16(_mm256_unpackhi_epi8(x, zero), by)};
}

// (factor * x + kHalf) >> 16 for a factor of 16 bits: half of the rounded up product of 2 x.
inline __m256i scaled(__m256i x, int16_t factor) {
  const __m256i high = _mm256_mulhi_epi16(_mm256_add_epi16(x, x), _mm256_set1_epi16(factor));
  return _mm256_srai_epi16(_mm256_add_epi16(high, _mm256_set1_epi16(1)), 1);
}

inline __m256i red(__m256i y, __m256i cr) {
  return _mm256_add_epi16(_mm256_add_epi16(y, cr), scaled(cr, kCrR - kOne));
}
inline __m256i blue(__m256i y, __m256i cb) {
  return _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(cb, cb)),
                          scaled(cb, kCbB - 2 * kOne));
}
inline __m256i green(__m256i y, __m256i cb, __m256i cr) {
  const __m256i factors = _mm256_set1_epi32(
      static_cast<int32_t>(static_cast<uint32_t>(kOne - kCrG) << 16 | (-kCbG & 0xFFFF)));
  const __m256i half = _mm256_set1_epi32(kHalf);
  const auto sum = [&](__m256i pairs) {
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(pairs, factors), half), kBits);
  };
  const __m256i part =
      _mm256_packs_epi32(sum(_mm256_unpacklo_epi16(cb, cr)), sum(_mm256_unpackhi_epi16(cb, cr)));
  return _mm256_sub_epi16(_mm256_add_epi16(y, part), cr);
}

inline void ycc_block(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, bool bgr,
                      uint8_t* out) {
  const Halves luma = widen(y, 0), b = widen(cb, 128), r = widen(cr, 128);
  const __m256i reds = _mm256_packus_epi16(red(luma.low, r.low), red(luma.high, r.high));
  const __m256i greens =
      _mm256_packus_epi16(green(luma.low, b.low, r.low), green(luma.high, b.high, r.high));
  const __m256i blues = _mm256_packus_epi16(blue(luma.low, b.low), blue(luma.high, b.high));
  interleave<InOrder>(bgr ? blues : reds, greens, bgr ? reds : blues, out);
}

void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, bool bgr,
                uint8_t* out) {
  constexpr int64_t kStep = 32;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) ycc_block(y + i, cb + i, cr + i, bgr, out + 3 * i);
  if (i == n) return;
  uint8_t rest[3 * kStep];
  ycc_block(y + i, cb + i, cr + i, bgr, rest);
  std::memcpy(out + 3 * i, rest, static_cast<size_t>(3 * (n - i)));
}

#else

template <bool kBgr>
void ycc_row(const uint8_t* __restrict y, const uint8_t* __restrict cb,
             const uint8_t* __restrict cr, int64_t n, uint8_t* __restrict out) {
  for (int64_t i = 0; i < n; ++i) ycc_pixel<kBgr>(y[i], cb[i], cr[i], out + 3 * i);
}

void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, bool bgr,
                uint8_t* out) {
  (bgr ? ycc_row<true> : ycc_row<false>)(y, cb, cr, n, out);
}

#endif

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void jpeg_upsample(const JpegUpsampling& how, const uint8_t* near, const uint8_t* far, bool above,
                   int64_t n, int16_t* sums, uint8_t* out) {
  TORCHDALI_ISA_PICK(upsample)(how, near, far, above, n, sums, out);
}

void jpeg_ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, bool bgr,
                     uint8_t* out) {
  TORCHDALI_ISA_PICK(ycc_to_rgb)(y, cb, cr, n, bgr, out);
}

void jpeg_planes_to_rgb(const uint8_t* r, const uint8_t* g, const uint8_t* b, int64_t n, bool bgr,
                        uint8_t* out) {
  if (bgr) std::swap(r, b);
  for (int64_t i = 0; i < n; ++i, out += 3) {
    out[0] = r[i];
    out[1] = g[i];
    out[2] = b[i];
  }
}
#endif

}  // namespace torchdali::kernels
