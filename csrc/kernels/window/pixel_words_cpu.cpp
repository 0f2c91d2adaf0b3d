// SPDX-License-Identifier: Apache-2.0
// pixel_words.h, once per instruction set.
#include "kernels/window/pixel_words.h"

#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/window/pixel_words_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL > 0
inline __m128i load(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
inline void store(uint8_t* to, __m128i block) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), block);
}
#endif

void pack_words(uint8_t* out, const uint8_t* in, int64_t pixels) {
  int64_t i = 0;
#if TORCHDALI_ISA_LEVEL > 0
  // Four pixels per shuffle; the last four bytes are overwritten by the next store.
  const __m128i order = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  for (; i + 6 <= pixels; i += 4) store(out + 3 * i, _mm_shuffle_epi8(load(in + 4 * i), order));
#endif
  for (; i < pixels; ++i) std::memcpy(out + 3 * i, in + 4 * i, 3);
}

void split_words(uint8_t* out, const uint8_t* in, int64_t pixels) {
  int64_t i = 0;
#if TORCHDALI_ISA_LEVEL > 0
  const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (; i + 16 <= pixels; i += 16) {
    // Each block: the bytes of four pixels, by channel.
    __m128i block[4];
    for (int k = 0; k < 4; ++k) block[k] = _mm_shuffle_epi8(load(in + 4 * i + 16 * k), order);
    const __m128i rg01 = _mm_unpacklo_epi32(block[0], block[1]);
    const __m128i rg23 = _mm_unpacklo_epi32(block[2], block[3]);
    const __m128i b01 = _mm_unpackhi_epi32(block[0], block[1]);
    const __m128i b23 = _mm_unpackhi_epi32(block[2], block[3]);
    store(out + i, _mm_unpacklo_epi64(rg01, rg23));
    store(out + pixels + i, _mm_unpackhi_epi64(rg01, rg23));
    store(out + 2 * pixels + i, _mm_unpacklo_epi64(b01, b23));
  }
#endif
  for (; i < pixels; ++i)
    for (int c = 0; c < 3; ++c) out[c * pixels + i] = in[4 * i + c];
}

void make_words(uint8_t* out, const uint8_t* in, int64_t pixels) {
  int64_t i = 0;
#if TORCHDALI_ISA_LEVEL > 0
  const __m128i order = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
  const __m128i opaque = _mm_set1_epi32(static_cast<int>(0xff000000U));
  for (; i + 6 <= pixels; i += 4)  // reads 16 bytes for four pixels
    store(out + 4 * i, _mm_or_si128(_mm_shuffle_epi8(load(in + 3 * i), order), opaque));
#endif
  for (; i < pixels; ++i) {
    std::memcpy(out + 4 * i, in + 3 * i, 3);
    out[4 * i + 3] = 255;
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void pack_words(uint8_t* out, const uint8_t* in, int64_t pixels) {
  TORCHDALI_ISA_PICK(pack_words)(out, in, pixels);
}
void split_words(uint8_t* out, const uint8_t* in, int64_t pixels) {
  TORCHDALI_ISA_PICK(split_words)(out, in, pixels);
}
void make_words(uint8_t* out, const uint8_t* in, int64_t pixels) {
  TORCHDALI_ISA_PICK(make_words)(out, in, pixels);
}
#endif

}  // namespace torchdali::kernels
