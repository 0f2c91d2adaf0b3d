// SPDX-License-Identifier: Apache-2.0
// colour_matrix.h, once per instruction set.
#include "kernels/colour_matrix.h"

#include "kernels/convert.h"

#define TORCHDALI_ISA_FILE "kernels/colour_matrix_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

inline float channel(const ColourMatrix& c, int i, float x0, float x1, float x2) {
  return c.m[i][0] * x0 + c.m[i][1] * x1 + c.m[i][2] * x2 + c.offset[i];
}

void colour_matrix_plain(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t pixels,
                         const ColourMatrix& matrix) {
  const ColourMatrix c = matrix;
  for (int64_t p = 0; p < pixels; ++p) {
    const float x0 = in[3 * p], x1 = in[3 * p + 1], x2 = in[3 * p + 2];
    for (int i = 0; i < 3; ++i) out[3 * p + i] = round_to_byte(channel(c, i, x0, x1, x2));
  }
}

void colour_matrix_floats(float* x, int64_t pixels, const ColourMatrix& matrix) {
  const ColourMatrix c = matrix;
  for (int64_t p = 0; p < pixels; ++p) {
    const float x0 = x[3 * p], x1 = x[3 * p + 1], x2 = x[3 * p + 2];
    for (int i = 0; i < 3; ++i) x[3 * p + i] = channel(c, i, x0, x1, x2);
  }
}

#if TORCHDALI_ISA_LEVEL > 0
// Some pixels at a time, four in each 128-bit lane: a byte shuffle then widens one channel of them
// to 32 bits, and another packs the results.
#if TORCHDALI_ISA_LEVEL > 1
using Ints = __m512i;
using Floats = __m512;
constexpr int64_t kStep = 16;  // pixels
inline Ints load(const uint8_t* in) {
  const Ints lanes = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
  return _mm512_permutexvar_epi32(lanes, _mm512_maskz_loadu_epi32(0xFFF, in));
}
inline void store(uint8_t* out, Ints pixels) {
  const Ints dense = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
  _mm512_mask_storeu_epi32(out, 0xFFF, _mm512_permutexvar_epi32(dense, pixels));
}
inline Ints lanes(__m128i x) { return _mm512_broadcast_i32x4(x); }
inline Ints shuffle(Ints x, Ints mask) { return _mm512_shuffle_epi8(x, mask); }
inline Ints bit_or(Ints a, Ints b) { return _mm512_or_si512(a, b); }
template <int kBits>
inline Ints shift_left(Ints x) {
  return _mm512_slli_epi32(x, kBits);
}
inline Floats splat(float x) { return _mm512_set1_ps(x); }
inline Floats to_float(Ints x) { return _mm512_cvtepi32_ps(x); }
inline Ints truncate(Floats x) { return _mm512_cvttps_epi32(x); }
inline Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
inline Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
#else
using Ints = __m256i;
using Floats = __m256;
constexpr int64_t kStep = 8;
inline Ints load(const uint8_t* in) {  // two overlapping halves: not a byte past the pixels
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 8));
  return _mm256_set_m128i(_mm_srli_si128(high, 4), low);
}
inline void store(uint8_t* out, Ints pixels) {
  const Ints dense = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
  const Ints bytes = _mm256_permutevar8x32_epi32(pixels, dense);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(bytes));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 16), _mm256_extracti128_si256(bytes, 1));
}
inline Ints lanes(__m128i x) { return _mm256_broadcastsi128_si256(x); }
inline Ints shuffle(Ints x, Ints mask) { return _mm256_shuffle_epi8(x, mask); }
inline Ints bit_or(Ints a, Ints b) { return _mm256_or_si256(a, b); }
template <int kBits>
inline Ints shift_left(Ints x) {
  return _mm256_slli_epi32(x, kBits);
}
inline Floats splat(float x) { return _mm256_set1_ps(x); }
inline Floats to_float(Ints x) { return _mm256_cvtepi32_ps(x); }
inline Ints truncate(Floats x) { return _mm256_cvttps_epi32(x); }
inline Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
inline Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
inline Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
#endif

void colour_matrix_bytes(uint8_t* out, const uint8_t* in, int64_t pixels,
                         const ColourMatrix& matrix) {
  if (pixels < kStep) {
    colour_matrix_plain(out, in, pixels, matrix);
    return;
  }
  Floats m[3][3], offset[3];
  Ints widen[3];
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) m[i][k] = splat(matrix.m[i][k]);
    offset[i] = splat(matrix.offset[i]);
    // Byte i of each pixel, and zeros (bytes with the highest bit) above it.
    const int z = static_cast<int>(0x80808000u) | i;
    widen[i] = lanes(_mm_setr_epi32(z, z + 3, z + 6, z + 9));
  }
  const Ints pack = lanes(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const Floats below_half = splat(0x1.fffffep-2f), zero = splat(0.0f), top = splat(255.0f);
  const auto step = [&](int64_t p) {
    const Ints bytes = load(in + 3 * p);
    Floats x[3];
    for (int i = 0; i < 3; ++i) x[i] = to_float(shuffle(bytes, widen[i]));
    Ints y[3];
    for (int i = 0; i < 3; ++i) {
      const Floats sum = add(add(mul(m[i][0], x[0]), mul(m[i][1], x[1])), mul(m[i][2], x[2]));
      // round_to_byte(): max() returns its second operand where the first is NaN.
      const Floats rounded = add(add(sum, offset[i]), below_half);
      y[i] = truncate(min(max(rounded, zero), top));
    }
    const Ints pixel = bit_or(bit_or(y[0], shift_left<8>(y[1])), shift_left<16>(y[2]));
    store(out + 3 * p, shuffle(pixel, pack));
  };
  int64_t p = 0;
  for (; p + kStep <= pixels; p += kStep) step(p);
  if (p < pixels) step(pixels - kStep);  // overlaps the step before: the same values again
}
#else
void colour_matrix_bytes(uint8_t* out, const uint8_t* in, int64_t pixels,
                         const ColourMatrix& matrix) {
  colour_matrix_plain(out, in, pixels, matrix);
}
#endif

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void colour_matrix(void* out, DType to, const void* in, DType from, int64_t pixels,
                   const ColourMatrix& matrix) {
  if (to == DType::kUInt8 && from == DType::kUInt8) {
    TORCHDALI_ISA_PICK(colour_matrix_bytes)
    (static_cast<uint8_t*>(out), static_cast<const uint8_t*>(in), pixels, matrix);
    return;
  }
  const auto floats = TORCHDALI_ISA_PICK(colour_matrix_floats);
  in_float_blocks(out, to, in, from, 3 * pixels, 3,
                  [&](float* x, int64_t n) { floats(x, n / 3, matrix); });
}
#endif

}  // namespace torchdali::kernels
