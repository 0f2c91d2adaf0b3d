// SPDX-License-Identifier: Apache-2.0
// mirror.h, once per instruction set.
#include "kernels/window/mirror.h"

#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/window/mirror_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

// kMirrorRow(out, in, pixels, pixel_bytes) mirrors a row.
template <auto kMirrorRow>
void mirror_rows(void* out, const void* in, int64_t rows, int64_t in_stride, int64_t pixels,
                 int64_t pixel_bytes) {
  char* to = static_cast<char*>(out);
  const char* from = static_cast<const char*>(in);
  for (int64_t row = 0; row < rows; ++row, to += pixels * pixel_bytes, from += in_stride)
    kMirrorRow(to, from, pixels, pixel_bytes);
}

template <class T>
inline void mirror_elements(void* out, const void* in, int64_t pixels, int64_t) {
  T* __restrict to = static_cast<T*>(out);
  const T* __restrict from = static_cast<const T*>(in) + pixels - 1;
  for (int64_t i = 0; i < pixels; ++i) to[i] = from[-i];
}

#if TORCHDALI_ISA_LEVEL == 2
constexpr int64_t kBlock = 64;
inline void mirror_block(uint8_t* to, const uint8_t* from) {
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  const __m512i turned = _mm512_shuffle_epi8(_mm512_loadu_si512(from), order);
  _mm512_storeu_si512(to, _mm512_shuffle_i64x2(turned, turned, 0b00'01'10'11));
}
#elif TORCHDALI_ISA_LEVEL == 1
constexpr int64_t kBlock = 32;
inline void mirror_block(uint8_t* to, const uint8_t* from) {
  const __m256i order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i turned = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(block, order), 0b01'00'11'10);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), turned);
}
#endif

inline void mirror_bytes(void* out, const void* in, int64_t pixels, int64_t) {
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const uint8_t*>(in);
  int64_t i = 0;
#if TORCHDALI_ISA_LEVEL > 0
  if (pixels >= kBlock) {
    const int64_t last = pixels - kBlock;
    for (; i < last; i += kBlock) mirror_block(to + i, from + last - i);
    mirror_block(to + last, from);  // some bytes again
    return;
  }
#endif
  for (; i < pixels; ++i) to[i] = from[pixels - 1 - i];
}

// With a constant size, each pixel is one or two moves.
template <int kBytes>
inline void mirror_fixed(void* out, const void* in, int64_t pixels, int64_t) {
  char* to = static_cast<char*>(out);
  const char* from = static_cast<const char*>(in) + (pixels - 1) * kBytes;
  int64_t i = 0;
#if TORCHDALI_ISA_LEVEL > 0
  if constexpr (kBytes == 3) {
    // Five pixels per shuffle; the sixteenth byte is overwritten by the next store. Plain moves
    // take five times as long (224x224: 21 us to 4 us).
    const __m128i order = _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0);
    for (; i + 6 <= pixels; i += 5) {
      const __m128i block =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(from - i * kBytes - 13));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * kBytes), _mm_shuffle_epi8(block, order));
    }
  }
#endif
  for (; i < pixels; ++i) std::memcpy(to + i * kBytes, from - i * kBytes, kBytes);
}

inline void mirror_any(void* out, const void* in, int64_t pixels, int64_t pixel_bytes) {
  char* to = static_cast<char*>(out);
  const char* from = static_cast<const char*>(in) + (pixels - 1) * pixel_bytes;
  for (int64_t i = 0; i < pixels; ++i, to += pixel_bytes, from -= pixel_bytes)
    std::memcpy(to, from, static_cast<size_t>(pixel_bytes));
}

MirrorFn mirror_function(int64_t pixel_bytes) {
  switch (pixel_bytes) {
    case 1: return mirror_rows<mirror_bytes>;
    case 2: return mirror_rows<mirror_elements<uint16_t>>;
    case 3: return mirror_rows<mirror_fixed<3>>;
    case 4: return mirror_rows<mirror_elements<uint32_t>>;
    case 6: return mirror_rows<mirror_fixed<6>>;
    case 8: return mirror_rows<mirror_elements<uint64_t>>;
    case 12: return mirror_rows<mirror_fixed<12>>;
    case 16: return mirror_rows<mirror_fixed<16>>;
    case 24: return mirror_rows<mirror_fixed<24>>;
    default: return mirror_rows<mirror_any>;
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
MirrorFn mirror_function(int64_t pixel_bytes) {
  return TORCHDALI_ISA_PICK(mirror_function)(pixel_bytes);
}
#endif

}  // namespace torchdali::kernels
