// SPDX-License-Identifier: Apache-2.0
// color_matrix.h, once per instruction set.
#include "kernels/color/color_matrix.h"

#include "kernels/convert.h"

#define TORCHDALI_ISA_FILE "kernels/color/color_matrix_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

inline float channel(const ColorMatrix& c, int i, float x0, float x1, float x2) {
  return c.m[i][0] * x0 + c.m[i][1] * x1 + c.m[i][2] * x2 + c.offset[i];
}

void color_matrix_plain(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t pixels,
                        const ColorMatrix& matrix) {
  const ColorMatrix c = matrix;
  for (int64_t p = 0; p < pixels; ++p) {
    const float x0 = in[3 * p], x1 = in[3 * p + 1], x2 = in[3 * p + 2];
    for (int i = 0; i < 3; ++i) out[3 * p + i] = round_to_byte(channel(c, i, x0, x1, x2));
  }
}

void color_matrix_floats(float* x, int64_t pixels, const ColorMatrix& matrix) {
  const ColorMatrix c = matrix;
  for (int64_t p = 0; p < pixels; ++p) {
    const float x0 = x[3 * p], x1 = x[3 * p + 1], x2 = x[3 * p + 2];
    for (int i = 0; i < 3; ++i) x[3 * p + i] = channel(c, i, x0, x1, x2);
  }
}

void weighted_sum_plain(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t pixels,
                        const int16_t (&weights)[3]) {
  const int w0 = weights[0], w1 = weights[1], w2 = weights[2];
  for (int64_t p = 0; p < pixels; ++p) {
    const int sum = in[3 * p] * w0 + in[3 * p + 1] * w1 + in[3 * p + 2] * w2 + (1 << 14);
    out[p] = static_cast<uint8_t>(sum >> 15);
  }
}
// From pixel `p` on.
void reverse_plain(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t p,
                   int64_t pixels) {
  for (; p < pixels; ++p)
    for (int i = 0; i < 3; ++i) out[3 * p + i] = in[3 * p + 2 - i];
}
void triple_plain(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t p,
                  int64_t pixels) {
  for (; p < pixels; ++p)
    for (int i = 0; i < 3; ++i) out[3 * p + i] = in[p];
}

#if TORCHDALI_ISA_LEVEL > 0
// Several pixels at a time, four per 128-bit lane: a byte shuffle widens one of their channels to
// 32 bits, and another one packs the results.
#if TORCHDALI_ISA_LEVEL > 1
using Ints = __m512i;
using Floats = __m512;
constexpr int64_t kStep = 16;  // pixels
// Two loads and two stores. A single masked load and store of 48 bytes take three times as long for
// data in memory.
inline Ints load(const uint8_t* in) {
  const Ints lanes = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 32));
  return _mm512_permutexvar_epi32(lanes, _mm512_inserti32x4(_mm512_castsi256_si512(low), high, 2));
}
inline void store(uint8_t* out, Ints pixels) {
  const Ints dense = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
  const Ints bytes = _mm512_permutexvar_epi32(dense, pixels);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(bytes));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 32), _mm512_extracti32x4_epi32(bytes, 2));
}
inline Ints lanes(__m128i x) { return _mm512_broadcast_i32x4(x); }
inline Ints shuffle(Ints x, Ints mask) { return _mm512_shuffle_epi8(x, mask); }
inline Ints bit_or(Ints a, Ints b) { return _mm512_or_si512(a, b); }
template <int kBits>
inline Ints shift_left(Ints x) {
  return _mm512_slli_epi32(x, kBits);
}
inline Ints add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
inline Ints madd(Ints a, Ints b) { return _mm512_madd_epi16(a, b); }
template <bool kBypass>
inline void store_bytes(uint8_t* out, Ints x) {
  auto* to = reinterpret_cast<__m128i*>(out);
  if constexpr (kBypass) _mm_stream_si128(to, _mm512_cvtepi32_epi8(x));
  else _mm_storeu_si128(to, _mm512_cvtepi32_epi8(x));
}
template <int kBits>
inline Ints shift_right(Ints x) {
  return _mm512_srli_epi32(x, kBits);
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
inline Ints load(
    const uint8_t* in) {  // two overlapping halves, which read no byte after the pixels
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
inline Ints add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
inline Ints madd(Ints a, Ints b) { return _mm256_madd_epi16(a, b); }
template <bool kBypass>
inline void store_bytes(uint8_t* out, Ints x) {
  const Ints words = _mm256_packus_epi32(x, x), bytes = _mm256_packus_epi16(words, words);
  const Ints dense = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
  const __m128i low = _mm256_castsi256_si128(dense);
  if constexpr (kBypass) _mm_stream_si64(reinterpret_cast<long long*>(out), _mm_cvtsi128_si64(low));
  else _mm_storel_epi64(reinterpret_cast<__m128i*>(out), low);
}
template <int kBits>
inline Ints shift_right(Ints x) {
  return _mm256_srli_epi32(x, kBits);
}
inline Floats splat(float x) { return _mm256_set1_ps(x); }
inline Floats to_float(Ints x) { return _mm256_cvtepi32_ps(x); }
inline Ints truncate(Floats x) { return _mm256_cvttps_epi32(x); }
inline Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
inline Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
inline Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
#endif

// A shuffle mask: four bytes for the first pixel of a lane, and `step` more for each further one.
inline __m128i pattern(int mask, int step) {
  return _mm_setr_epi32(mask, mask + step, mask + 2 * step, mask + 3 * step);
}
// In each 32 bits.
inline Ints pair(int low, int high) { return lanes(_mm_set1_epi32(low | high << 16)); }

void color_matrix_bytes(uint8_t* out, const uint8_t* in, int64_t pixels,
                        const ColorMatrix& matrix) {
  if (pixels < kStep) {
    color_matrix_plain(out, in, pixels, matrix);
    return;
  }
  Floats m[3][3], offset[3];
  Ints widen[3];
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) m[i][k] = splat(matrix.m[i][k]);
    offset[i] = splat(matrix.offset[i]);
    // Byte i of each pixel, and zeros (bytes with the highest bit) above it.
    const int z = static_cast<int>(0x80808000u) | i;
    widen[i] = lanes(pattern(z, 3));
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
  if (p < pixels) step(pixels - kStep);  // overlaps the previous step and writes the same values
}

void weighted_sum(uint8_t* out, const uint8_t* in, int64_t pixels, const int16_t (&weights)[3],
                  bool bypass_cache) {
  if (pixels < kStep) {
    weighted_sum_plain(out, in, pixels, weights);
    return;
  }
  // Pairs of 16 bits: channels 0 and 1, then channel 2 and a one, whose weight rounds the sum.
  const int z = static_cast<int>(0x80008000u), first = z | 0x010000, second = z | 0x800002;
  const Ints widen01 = lanes(pattern(first, 0x030003)), widen2 = lanes(pattern(second, 3));
  const Ints weight01 = pair(weights[0], weights[1]), weight2 = pair(weights[2], 1 << 14);
  const Ints one = pair(0, 1);
  const auto sum = [&](int64_t p) {
    const Ints bytes = load(in + 3 * p);
    const Ints x2 = bit_or(shuffle(bytes, widen2), one);
    return shift_right<15>(add(madd(shuffle(bytes, widen01), weight01), madd(x2, weight2)));
  };
  int64_t p = 0;
  // Whole lines of the cache, while the input is read ahead. Stored to another place first, they
  // take 1.2 times as long.
  constexpr int64_t kLine = 64;
  const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(out) % kLine);
  if (bypass_cache && head + kLine <= pixels) {
    weighted_sum_plain(out, in, head, weights);
    for (p = head; p + kLine <= pixels; p += kLine) {
      const uintptr_t ahead =
          reinterpret_cast<uintptr_t>(in + 3 * p) + 4096;  // may be past the end
      for (uintptr_t i = 0; i < 3 * kLine; i += kLine)
        __builtin_prefetch(reinterpret_cast<const void*>(ahead + i));
      for (int64_t i = p; i < p + kLine; i += kStep) store_bytes<true>(out + i, sum(i));
    }
    _mm_sfence();
  }
  for (; p + kStep <= pixels; p += kStep) store_bytes<false>(out + p, sum(p));
  if (p < pixels) store_bytes<false>(out + pixels - kStep, sum(pixels - kStep));
}

void reverse_channels(uint8_t* out, const uint8_t* in, int64_t pixels) {
  // Five pixels of the sixteen bytes; the last byte is written again by the next.
  const __m128i mask = _mm_setr_epi8(2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, 14, 13, 12, 15);
  int64_t p = 0;
  for (; p + 6 <= pixels; p += 5) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 3 * p));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * p), _mm_shuffle_epi8(x, mask));
  }
  reverse_plain(out, in, p, pixels);
}

void triple_channel(uint8_t* out, const uint8_t* in, int64_t pixels) {
  const __m128i first = _mm_setr_epi8(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5);
  const __m128i second = _mm_setr_epi8(5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10);
  const __m128i third =
      _mm_setr_epi8(10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15);
  int64_t p = 0;
  for (; p + 16 <= pixels; p += 16) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + p));
    __m128i* to = reinterpret_cast<__m128i*>(out + 3 * p);
    _mm_storeu_si128(to, _mm_shuffle_epi8(x, first));
    _mm_storeu_si128(to + 1, _mm_shuffle_epi8(x, second));
    _mm_storeu_si128(to + 2, _mm_shuffle_epi8(x, third));
  }
  triple_plain(out, in, p, pixels);
}
#else
void color_matrix_bytes(uint8_t* out, const uint8_t* in, int64_t pixels,
                        const ColorMatrix& matrix) {
  color_matrix_plain(out, in, pixels, matrix);
}
void weighted_sum(uint8_t* out, const uint8_t* in, int64_t pixels, const int16_t (&weights)[3],
                  bool /*bypass_cache*/) {
  weighted_sum_plain(out, in, pixels, weights);
}
void reverse_channels(uint8_t* out, const uint8_t* in, int64_t pixels) {
  reverse_plain(out, in, 0, pixels);
}
void triple_channel(uint8_t* out, const uint8_t* in, int64_t pixels) {
  triple_plain(out, in, 0, pixels);
}
#endif

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void color_matrix(void* out, DType to, const void* in, DType from, int64_t pixels,
                  const ColorMatrix& matrix) {
  if (to == DType::kUInt8 && from == DType::kUInt8) {
    TORCHDALI_ISA_PICK(color_matrix_bytes)
    (static_cast<uint8_t*>(out), static_cast<const uint8_t*>(in), pixels, matrix);
    return;
  }
  const auto floats = TORCHDALI_ISA_PICK(color_matrix_floats);
  in_float_blocks(out, to, in, from, 3 * pixels, 3,
                  [&](float* x, int64_t n) { floats(x, n / 3, matrix); });
}
void weighted_sum(uint8_t* out, const uint8_t* in, int64_t pixels, const int16_t (&weights)[3],
                  bool bypass_cache) {
  TORCHDALI_ISA_PICK(weighted_sum)(out, in, pixels, weights, bypass_cache);
}
void reverse_channels(uint8_t* out, const uint8_t* in, int64_t pixels) {
  TORCHDALI_ISA_PICK(reverse_channels)(out, in, pixels);
}
void triple_channel(uint8_t* out, const uint8_t* in, int64_t pixels) {
  TORCHDALI_ISA_PICK(triple_channel)(out, in, pixels);
}
#endif

}  // namespace torchdali::kernels
