// SPDX-License-Identifier: Apache-2.0
// Forward DCT, quantization and back. The forward transform is that of jpeg_idct_cpu.cpp in
// reverse, on rows, then on columns, with the same rotations. All numbers between the steps fit 16
// bits, because samples have 8. Four blocks stay in registers all the way with AVX-512, two with
// AVX2.
#include <cstring>

#include "kernels/jpeg/jpeg_distortion.h"
#include "kernels/jpeg/jpeg_idct_scalar.h"

#define TORCHDALI_ISA_FILE "kernels/jpeg/jpeg_requantize_cpu.cpp"
#include "kernels/foreach_isa.h"

#ifndef TORCHDALI_JPEG_REQUANTIZE_ONCE
#define TORCHDALI_JPEG_REQUANTIZE_ONCE
namespace torchdali::kernels {
namespace {

using namespace jpeg_idct_scalar;  // NOLINT(google-build-using-namespace)
using jpeg_distortion::Quantization;

}  // namespace
}  // namespace torchdali::kernels
#endif

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_PASSES > 1

#include "kernels/jpeg/jpeg_dct_lanes.h"

// A row of samples, less 128.
inline V load_samples(const uint8_t* p) {
  const V middle = TORCHDALI_MM(set1_epi16)(128);
#if TORCHDALI_ISA_LEVEL == 2
  const V x = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif TORCHDALI_ISA_LEVEL == 1
  const V x = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#else
  const V x = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const V*>(p)), zero());
#endif
  return TORCHDALI_MM(sub_epi16)(x, middle);
}

inline V exclusive_or(V a, V b) {
#if TORCHDALI_ISA_LEVEL == 2
  return _mm512_xor_si512(a, b);
#elif TORCHDALI_ISA_LEVEL == 1
  return _mm256_xor_si256(a, b);
#else
  return _mm_xor_si128(a, b);
#endif
}

// A sum without products.
template <bool kFirst>
inline V whole(V x) {
  if constexpr (kFirst) return TORCHDALI_MM(slli_epi16)(x, kBetween);
  const V half = TORCHDALI_MM(set1_epi16)(1 << (kBetween - 1));
  return TORCHDALI_MM(srai_epi16)(TORCHDALI_MM(add_epi16)(x, half), kBetween);
}

template <bool kFirst>
inline void forward(V r[8]) {
  constexpr int kShift = kFirst ? kFraction - kBetween : kFraction + kBetween;
  V sum[4], difference[4];
  for (int i = 0; i < 4; ++i) {
    sum[i] = TORCHDALI_MM(add_epi16)(r[i], r[7 - i]);
    difference[i] = TORCHDALI_MM(sub_epi16)(r[i], r[7 - i]);
  }
  const V outer = TORCHDALI_MM(add_epi16)(sum[0], sum[3]);
  const V inner = TORCHDALI_MM(add_epi16)(sum[1], sum[2]);
  const V far = TORCHDALI_MM(sub_epi16)(sum[0], sum[3]);
  const V near = TORCHDALI_MM(sub_epi16)(sum[1], sum[2]);
  r[0] = whole<kFirst>(TORCHDALI_MM(add_epi16)(outer, inner));
  r[4] = whole<kFirst>(TORCHDALI_MM(sub_epi16)(outer, inner));
  const Rotated even = rotate(far, near, kEven);
  r[2] = narrow<kShift>(even.second);
  r[6] = narrow<kShift>(even.first);
  const V a = difference[3], b = difference[2], c = difference[1], d = difference[0];
  const Rotated s = rotate(TORCHDALI_MM(add_epi16)(a, c), TORCHDALI_MM(add_epi16)(b, d), kOdd);
  const Rotated ad = rotate(a, d, kOdd71), bc = rotate(b, c, kOdd53);
  r[7] = narrow<kShift>(ad.first + s.first);
  r[5] = narrow<kShift>(bc.first + s.second);
  r[3] = narrow<kShift>(bc.second + s.first);
  r[1] = narrow<kShift>(ad.second + s.second);
}

inline V broadcast8(const uint16_t* p) { return broadcast8(reinterpret_cast<const int16_t*>(p)); }

// Eight coefficients of each block; `at` is their place.
inline V requantize_row(V x, const Quantization& q, int at) {
  const V sign = TORCHDALI_MM(srai_epi16)(x, 15);
  const auto with_sign = [&](V y) { return TORCHDALI_MM(sub_epi16)(exclusive_or(y, sign), sign); };
  const V sum = TORCHDALI_MM(add_epi16)(with_sign(x), broadcast8(q.half + at));
  const V size = TORCHDALI_MM(mulhi_epu16)(
      TORCHDALI_MM(mulhi_epu16)(sum, broadcast8(q.reciprocal + at)), broadcast8(q.scale + at));
  return with_sign(TORCHDALI_MM(mullo_epi16)(size, broadcast8(q.quant + at)));
}

inline void requantize_group(uint8_t* at, int64_t stride, const Quantization& q) {
  constexpr int kBlocks = sizeof(V) / 16;
  for (int b = 0; b < 4; b += kBlocks, at += 8 * kBlocks) {
    V r[8];
    for (int y = 0; y < 8; ++y) r[y] = load_samples(at + y * stride);
    transpose(r);
    forward<true>(r);
    transpose(r);
    forward<false>(r);
    for (int y = 0; y < 8; ++y) r[y] = requantize_row(r[y], q, y * 8);
    transform<kColumnShift>(r);
    transpose(r);
    transform<kRowShift>(r);
    store(r, at, stride);
  }
}
#undef TORCHDALI_MM

#else
inline void requantize_group(uint8_t* at, int64_t stride, const Quantization& q) {
  for (int b = 0; b < 4; ++b, at += 8) jpeg_distortion::requantize_block(at, stride, q.quant);
}
#endif

void requantize(uint8_t* samples, int64_t groups, int64_t stride, const Quantization& q) {
  for (int64_t g = 0; g < groups; ++g) requantize_group(samples + g * 32, stride, q);
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void jpeg_distortion::requantize(uint8_t* samples, int64_t groups, int64_t stride,
                                 const Quantization& q) {
  TORCHDALI_ISA_PICK(requantize)(samples, groups, stride, q);
}
#endif

}  // namespace torchdali::kernels
