// SPDX-License-Identifier: Apache-2.0
// byte_table.h, once per instruction set.
#include "kernels/color/byte_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

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

constexpr int64_t kLine = 64;  // of the cache

// Reads ahead while the output is stored to memory. A number, because it may be past the end.
inline void fetch(const uint8_t* in, int64_t bytes) {
  constexpr uintptr_t kAhead = 4096;
  const uintptr_t ahead = reinterpret_cast<uintptr_t>(in) + kAhead;
  for (int64_t i = 0; i < bytes; i += kLine)
    __builtin_prefetch(reinterpret_cast<const void*>(ahead + static_cast<uintptr_t>(i)));
}

void look_up_one(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                 const ByteTable& table, bool bypass_cache) {
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
  if (bypass_cache) {
    step(0);
    i = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(out) % kLine);
    for (; i + kStep <= count; i += kStep) {
      fetch(in + i, kStep);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), wide(_mm512_loadu_si512(in + i)));
    }
    _mm_sfence();
  }
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
template <bool kBypass>
inline void store_pixels(uint8_t* out, __m512i x) {
  const __m512i dense = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
  const __m512i by_pixel =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1));
  x = _mm512_permutexvar_epi32(dense, _mm512_shuffle_epi8(x, by_pixel));
  if constexpr (kBypass) {
    auto* to = reinterpret_cast<__m128i*>(out);
    _mm_stream_si128(to, _mm512_castsi512_si128(x));
    _mm_stream_si128(to + 1, _mm512_extracti32x4_epi32(x, 1));
    _mm_stream_si128(to + 2, _mm512_extracti32x4_epi32(x, 2));
  } else {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(x));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 32), _mm512_extracti32x4_epi32(x, 2));
  }
}

// 64 pixels at a time, as three vectors of one channel each.
void look_up_three(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                   const ByteTable* tables, bool bypass_cache) {
  constexpr int64_t kStep = 192;
  if (count < kStep) {
    look_up_some<3>(out, in, count, tables);
    return;
  }
  const WideTable wide0(tables[0]), wide1(tables[1]), wide2(tables[2]);
  const auto step = [&]<bool kBypass>(int64_t i) {
    const __m512i p0 = load_pixels(in + i), p1 = load_pixels(in + i + 48);
    const __m512i p2 = load_pixels(in + i + 96), p3 = load_pixels(in + i + 144);
    const __m512i low01 = _mm512_unpacklo_epi32(p0, p1), low23 = _mm512_unpacklo_epi32(p2, p3);
    const __m512i high01 = _mm512_unpackhi_epi32(p0, p1), high23 = _mm512_unpackhi_epi32(p2, p3);
    const __m512i c0 = wide0(_mm512_unpacklo_epi64(low01, low23));
    const __m512i c1 = wide1(_mm512_unpackhi_epi64(low01, low23));
    const __m512i c2 = wide2(_mm512_unpacklo_epi64(high01, high23));
    const __m512i low = _mm512_unpacklo_epi32(c0, c1), high = _mm512_unpackhi_epi32(c0, c1);
    const __m512i low2 = _mm512_unpacklo_epi32(c2, c2), high2 = _mm512_unpackhi_epi32(c2, c2);
    store_pixels<kBypass>(out + i, _mm512_unpacklo_epi64(low, low2));
    store_pixels<kBypass>(out + i + 48, _mm512_unpackhi_epi64(low, low2));
    store_pixels<kBypass>(out + i + 96, _mm512_unpacklo_epi64(high, high2));
    store_pixels<kBypass>(out + i + 144, _mm512_unpackhi_epi64(high, high2));
  };
  const auto store = [&](int64_t i) { step.template operator()<false>(i); };
  int64_t i = 0;
  if (bypass_cache) {
    store(0);
    while (reinterpret_cast<uintptr_t>(out + i) % kLine != 0) i += 3;  // fewer than kStep
    for (; i + kStep <= count; i += kStep) {
      fetch(in + i, kStep);
      step.template operator()<true>(i);
    }
    _mm_sfence();
  }
  for (; i + kStep <= count; i += kStep) store(i);
  if (i < count) store(count - kStep);
}
#else
void look_up_one(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                 const ByteTable& table, bool /*bypass_cache*/) {
  look_up_some<1>(out, in, count, &table);
}
void look_up_three(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                   const ByteTable* tables, bool /*bypass_cache*/) {
  look_up_some<3>(out, in, count, tables);
}
#endif

void look_up_bytes(uint8_t* out, const uint8_t* in, int64_t count, const ByteTable* tables,
                   int channels, bool bypass_cache) {
  if (channels == 1) return look_up_one(out, in, count, *tables, bypass_cache);
  if (channels == 3) return look_up_three(out, in, count, tables, bypass_cache);
  for (int64_t i = 0; i < count; i += channels)
    for (int c = 0; c < channels; ++c) out[i + c] = tables[c][in[i + c]];
}

// Adjacent pixels are often equal, and an addition to memory waits for the previous one at the same
// address. Four consecutive pixels therefore use separate counters. Those have 16 bits, since
// counters of 32 bits, in twice as many lines of the cache, take 1.6 times as long.
template <int kChannels>
void count_some(uint32_t (*counts)[256], const uint8_t* in, int64_t count) {
  static_assert(std::endian::native == std::endian::little);
  constexpr int kSets = 4, kPixels = 8, kStep = kPixels * kChannels;
  constexpr int64_t kFull = 0xffff / (kPixels / kSets) * kStep;  // bytes that fill no counter more
  int64_t i = 0;
  while (i + kStep <= count) {
    uint16_t sets[kSets][kChannels][256] = {};
    for (const int64_t end = std::min(count, i + kFull); i + kStep <= end; i += kStep) {
      uint64_t words[kChannels];
      std::memcpy(words, in + i, kStep);
#pragma GCC unroll 24
      for (int k = 0; k < kStep; ++k)
        ++sets[k / kChannels % kSets][k % kChannels][words[k / 8] >> (k % 8 * 8) & 0xff];
    }
    for (int c = 0; c < kChannels; ++c)
      for (int v = 0; v < 256; ++v)
        for (int s = 0; s < kSets; ++s) counts[c][v] += sets[s][c][v];
  }
  for (; i < count; i += kChannels)
    for (int c = 0; c < kChannels; ++c) ++counts[c][in[i + c]];
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
                   int channels, bool bypass_cache) {
  TORCHDALI_ISA_PICK(look_up_bytes)(out, in, count, tables, channels, bypass_cache);
}
void count_bytes(uint32_t (*counts)[256], const uint8_t* in, int64_t count, int channels) {
  TORCHDALI_ISA_PICK(count_bytes)(counts, in, count, channels);
}
#endif

}  // namespace torchdali::kernels
