// SPDX-License-Identifier: Apache-2.0
// byte_table.h, once per instruction set.
#include "kernels/color/byte_table.h"

#include <algorithm>

#define TORCHDALI_ISA_FILE "kernels/color/byte_table_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

template <int kChannels>
void look_up_some(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                  const ByteTable* tables) {
  for (int64_t i = 0; i < count; i += kChannels)
    for (int c = 0; c < kChannels; ++c) out[i + c] = tables[c][in[i + c]];
}

#if TORCHDALI_ISA_LEVEL > 1
// 64 bytes at a time: the table is in sixteen registers, which are looked up by the low four bits,
// and selected by the high four. 3 times as fast as single bytes.
struct WideTable {
  __m512i part[16];

  explicit WideTable(const ByteTable& table) {
    for (int i = 0; i < 16; ++i)
      part[i] =
          _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * i)));
  }
  __m512i operator()(__m512i x) const {
    const __m512i low = _mm512_and_si512(x, _mm512_set1_epi8(15));
    const __mmask64 bit4 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(16));
    const __mmask64 bit5 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(32));
    const __mmask64 bit6 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(64));
    const __mmask64 bit7 = _mm512_movepi8_mask(x);
    __m512i quarter[4];
    for (int q = 0; q < 4; ++q) {
      const __m512i* p = part + 4 * q;
      const __m512i first =
          _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(p[0], low), bit4, p[1], low);
      const __m512i second =
          _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(p[2], low), bit4, p[3], low);
      quarter[q] = _mm512_mask_blend_epi8(bit5, first, second);
    }
    const __m512i half0 = _mm512_mask_blend_epi8(bit6, quarter[0], quarter[1]);
    const __m512i half1 = _mm512_mask_blend_epi8(bit6, quarter[2], quarter[3]);
    return _mm512_mask_blend_epi8(bit7, half0, half1);
  }
};

void look_up_one(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                 const ByteTable& table) {
  constexpr int64_t kStep = 64;
  if (count < kStep) {
    look_up_some<1>(out, in, count, &table);
    return;
  }
  const WideTable wide(table);
  const auto step = [&](int64_t i) {
    _mm512_storeu_si512(out + i, wide(_mm512_loadu_si512(in + i)));
  };
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) step(i);
  if (i < count) step(count - kStep);
}

// Sixteen pixels: each 128 bits have the channels of four of them, as planes.
inline __m512i load_pixels(const uint8_t* in) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
  const __m512i by_channel =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1));
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 32));
  const __m512i x = _mm512_inserti32x4(_mm512_castsi256_si512(low), high, 2);
  return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(lanes, x), by_channel);
}
inline void store_pixels(uint8_t* out, __m512i x) {
  const __m512i dense = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
  const __m512i by_pixel =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1));
  x = _mm512_permutexvar_epi32(dense, _mm512_shuffle_epi8(x, by_pixel));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(x));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 32), _mm512_extracti32x4_epi32(x, 2));
}

// 64 pixels at a time, as three vectors of one channel each.
void look_up_three(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                   const ByteTable* tables) {
  constexpr int64_t kStep = 192;
  if (count < kStep) {
    look_up_some<3>(out, in, count, tables);
    return;
  }
  const WideTable wide0(tables[0]), wide1(tables[1]), wide2(tables[2]);
  const auto step = [&](int64_t i) {
    const __m512i p0 = load_pixels(in + i), p1 = load_pixels(in + i + 48);
    const __m512i p2 = load_pixels(in + i + 96), p3 = load_pixels(in + i + 144);
    const __m512i low01 = _mm512_unpacklo_epi32(p0, p1), low23 = _mm512_unpacklo_epi32(p2, p3);
    const __m512i high01 = _mm512_unpackhi_epi32(p0, p1), high23 = _mm512_unpackhi_epi32(p2, p3);
    const __m512i c0 = wide0(_mm512_unpacklo_epi64(low01, low23));
    const __m512i c1 = wide1(_mm512_unpackhi_epi64(low01, low23));
    const __m512i c2 = wide2(_mm512_unpacklo_epi64(high01, high23));
    const __m512i low = _mm512_unpacklo_epi32(c0, c1), high = _mm512_unpackhi_epi32(c0, c1);
    const __m512i low2 = _mm512_unpacklo_epi32(c2, c2), high2 = _mm512_unpackhi_epi32(c2, c2);
    store_pixels(out + i, _mm512_unpacklo_epi64(low, low2));
    store_pixels(out + i + 48, _mm512_unpackhi_epi64(low, low2));
    store_pixels(out + i + 96, _mm512_unpacklo_epi64(high, high2));
    store_pixels(out + i + 144, _mm512_unpackhi_epi64(high, high2));
  };
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) step(i);
  if (i < count) step(count - kStep);
}
#else
void look_up_one(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                 const ByteTable& table) {
  look_up_some<1>(out, in, count, &table);
}
void look_up_three(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                   const ByteTable* tables) {
  look_up_some<3>(out, in, count, tables);
}
#endif

void look_up_bytes(uint8_t* out, const uint8_t* in, int64_t count, const ByteTable* tables,
                   int channels) {
  if (channels == 1) return look_up_one(out, in, count, *tables);
  if (channels == 3) return look_up_three(out, in, count, tables);
  for (int64_t i = 0; i < count; i += channels)
    for (int c = 0; c < channels; ++c) out[i + c] = tables[c][in[i + c]];
}

// Adjacent pixels are often equal, and an addition to memory waits for the previous one at the same
// address. Four consecutive pixels therefore use separate counters.
template <int kChannels>
void count_some(uint32_t (*counts)[256], const uint8_t* in, int64_t count) {
  constexpr int kSets = 4;
  uint32_t sets[kSets][kChannels][256] = {};
  int64_t i = 0;
  for (; i + kSets * kChannels <= count; i += kSets * kChannels)
    for (int s = 0; s < kSets; ++s)
      for (int c = 0; c < kChannels; ++c) ++sets[s][c][in[i + s * kChannels + c]];
  for (; i < count; i += kChannels)
    for (int c = 0; c < kChannels; ++c) ++sets[0][c][in[i + c]];
  for (int c = 0; c < kChannels; ++c)
    for (int v = 0; v < 256; ++v)
      for (int s = 0; s < kSets; ++s) counts[c][v] += sets[s][c][v];
}

void count_bytes(uint32_t (*counts)[256], const uint8_t* in, int64_t count, int channels) {
  if (channels == 1) return count_some<1>(counts, in, count);
  if (channels == 3) return count_some<3>(counts, in, count);
  for (int64_t i = 0; i < count; i += channels)
    for (int c = 0; c < channels; ++c) ++counts[c][in[i + c]];
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void look_up_bytes(uint8_t* out, const uint8_t* in, int64_t count, const ByteTable* tables,
                   int channels) {
  TORCHDALI_ISA_PICK(look_up_bytes)(out, in, count, tables, channels);
}
void count_bytes(uint32_t (*counts)[256], const uint8_t* in, int64_t count, int channels) {
  TORCHDALI_ISA_PICK(count_bytes)(counts, in, count, channels);
}
#endif

}  // namespace torchdali::kernels
