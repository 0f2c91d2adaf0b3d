// SPDX-License-Identifier: Apache-2.0
// The horizontal pass of resampling in fixed point, for pixels of up to 4 channels; compiled once
// per instruction set, with bit-identical results.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/resample_rows/resample_rows.h"

#define TORCHDALI_ISA_FILE "kernels/resample_rows/resample_fixed_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

// Pixels are processed as 4 elements, including the start of the next pixel; each store overwrites
// the next pixel, which is written afterwards.
constexpr int kSlots = 4;
// Pixels that one step makes.
constexpr int kPixelGroup = 4;

// Starts and weights in groups: [ceil(out / 4), 1 + taps, 4 pixels, 4 equal numbers].
constexpr int kGroupStep = kPixelGroup * kSlots;
int64_t grouped_size(int64_t out, int taps) {
  return (out + kPixelGroup - 1) / kPixelGroup * (1 + taps) * kGroupStep;
}
HorizontalTable<uint16_t> prepare_groups(const int32_t* offset, const uint16_t* weights,
                                         int64_t out, int taps, uint16_t* memory) {
  uint16_t* to = memory;
  for (int64_t first = 0; first < out; first += kPixelGroup) {
    for (int k = 0; k < 1 + taps; ++k) {
      for (int64_t x = first; x < first + kPixelGroup; ++x, to += kSlots)
        std::fill(to, to + kSlots, x < out ? weights[x * (1 + taps) + k] : uint16_t{0});
    }
  }
  return {.out = out, .taps = taps, .offset = offset, .weights = memory};
}

#ifdef __x86_64__
#define TORCHDALI_RESAMPLE_SSE 1
#else
#define TORCHDALI_RESAMPLE_SSE 0
#endif

// The plain loop below takes 180 us for this pass of 300 x 300 -> 224 x 224, 3 channels, on Zen 5,
// with every instruction set: the compiler does not vectorize it. In groups: SSE2 47, AVX2 37 us.
#if TORCHDALI_RESAMPLE_SSE
// 4 elements, from and to any address.
inline __m128i load_pixel(const uint16_t* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}
inline void store_pixel(uint16_t* to, __m128i pixel) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), pixel);
}
inline __m128i load_two(const uint16_t* row, int32_t a, int32_t b) {
  return _mm_unpacklo_epi64(load_pixel(row + a), load_pixel(row + b));
}

// Sums of a group of 4 pixels, 4 elements each.
struct Group {
#if TORCHDALI_ISA_LEVEL >= 1
  __m256i sum;
  explicit Group(const uint16_t* start)
      : sum(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(start))) {}
  void add(const uint16_t* row, const int32_t* at, const uint16_t* weights) {
    const __m256i pixels = _mm256_inserti128_si256(
        _mm256_castsi128_si256(load_two(row, at[0], at[1])), load_two(row, at[2], at[3]), 1);
    const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
    sum = _mm256_add_epi16(sum, _mm256_mulhi_epu16(pixels, w));
  }
  __m128i low() const { return _mm256_castsi256_si128(sum); }
  __m128i high() const { return _mm256_extracti128_si256(sum, 1); }
#else
  __m128i sum0, sum1;
  explicit Group(const uint16_t* start)
      : sum0(_mm_loadu_si128(reinterpret_cast<const __m128i*>(start))),
        sum1(_mm_loadu_si128(reinterpret_cast<const __m128i*>(start) + 1)) {}
  void add(const uint16_t* row, const int32_t* at, const uint16_t* weights) {
    const __m128i* w = reinterpret_cast<const __m128i*>(weights);
    sum0 = _mm_add_epi16(sum0, _mm_mulhi_epu16(load_two(row, at[0], at[1]), _mm_loadu_si128(w)));
    sum1 =
        _mm_add_epi16(sum1, _mm_mulhi_epu16(load_two(row, at[2], at[3]), _mm_loadu_si128(w + 1)));
  }
  __m128i low() const { return sum0; }
  __m128i high() const { return sum1; }
#endif
  // Rounds to the nearest, halves to even: adds 127 or, before odd numbers, 128.
  static __m128i rounded(__m128i v) {
    const __m128i odd = _mm_and_si128(_mm_srli_epi16(v, 8), _mm_set1_epi16(1));
    return _mm_srli_epi16(_mm_add_epi16(v, _mm_add_epi16(odd, _mm_set1_epi16(127))), 8);
  }
  // 4 pixels of 4 bytes.
  __m128i bytes() const { return _mm_packus_epi16(rounded(low()), rounded(high())); }
};

template <int kChannels>
inline void store_mid(const Group& g, uint16_t* result) {
  const __m128i low = g.low(), high = g.high();
  store_pixel(result, low);
  store_pixel(result + kChannels, _mm_unpackhi_epi64(low, low));
  store_pixel(result + 2 * kChannels, high);
  store_pixel(result + 3 * kChannels, _mm_unpackhi_epi64(high, high));
}

// Writes 16 bytes from `result` on.
template <int kChannels>
inline void store_bytes(const Group& g, uint8_t* result) {
#if TORCHDALI_ISA_LEVEL >= 1
  constexpr auto at = [](int i) {  // byte i of the result
    return static_cast<char>(i < 4 * kChannels ? i / kChannels * 4 + i % kChannels : -1);
  };
  const __m128i order = _mm_setr_epi8(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8),
                                      at(9), at(10), at(11), at(12), at(13), at(14), at(15));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(result), _mm_shuffle_epi8(g.bytes(), order));
#else
  alignas(16) uint8_t pixels[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(pixels), g.bytes());
  for (int p = 0; p < 4; ++p) std::memcpy(result + p * kChannels, pixels + 4 * p, 4);
#endif
}

template <int kChannels, class Out>
void horizontal_groups(const uint16_t* row, const HorizontalTable<uint16_t>& t, Out* result) {
  constexpr bool kToMid = std::is_same_v<Out, uint16_t>;
  const uint16_t* weights = t.weights;
  const int64_t size = t.out * kChannels;
  for (int64_t x = 0; x < t.out; x += kPixelGroup) {
    Group g(weights);
    weights += kGroupStep;
    const uint16_t* from = row;
    for (int k = 0; k < t.taps; ++k) {
      g.add(from, t.offset + x, weights);
      from += kChannels;
      weights += kGroupStep;
    }
    const int64_t at = x * kChannels;
    if constexpr (kToMid) {
      store_mid<kChannels>(g, result + at);
    } else if (at + 16 <= size) {
      store_bytes<kChannels>(g, result + at);
    } else {  // bytes after the end of the row must not change
      uint8_t last[16 + kSlots];
      store_bytes<kChannels>(g, last);
      std::memcpy(result + at, last, std::min<int64_t>(size - at, kPixelGroup * kChannels));
    }
  }
}
#else
template <int kChannels, class Out>
void horizontal_groups(const uint16_t* row, const HorizontalTable<uint16_t>& t, Out* result) {
  constexpr bool kToMid = std::is_same_v<Out, uint16_t>;
  for (int64_t x = 0; x < t.out; ++x) {
    const uint16_t* from = row + t.offset[x];
    const uint16_t* weights =
        t.weights + (x / kPixelGroup * (1 + t.taps) * kPixelGroup + x % kPixelGroup) * kSlots;
    uint16_t sum[kChannels];
    for (int c = 0; c < kChannels; ++c) sum[c] = *weights;
    for (int k = 0; k < t.taps; ++k, from += kChannels) {
      weights += kGroupStep;
      for (int c = 0; c < kChannels; ++c)
        sum[c] =
            static_cast<uint16_t>(sum[c] + ((static_cast<uint32_t>(from[c]) * *weights) >> 16));
    }
    for (int c = 0; c < kChannels; ++c)
      result[x * kChannels + c] =
          static_cast<Out>(kToMid ? sum[c] : (sum[c] + 127 + (sum[c] >> 8 & 1)) >> 8);
  }
}
#endif  // TORCHDALI_RESAMPLE_SSE

#if TORCHDALI_ISA_LEVEL >= 2
// AVX-512: a block of adjacent elements is gathered from two registers by one permutation per tap.
// All taps use the same indices, each one pixel further. This pass of 300 x 300 -> 224 x 224, 3
// channels, on Zen 5: 37 us in groups, 15 us in blocks.
constexpr int kBlock = 32, kSmallestBlock = 8, kSource = 64;

// Indices of blocks of `size` elements. Returns the largest index; the blocks are too large if it
// is kSource or more.
int index_blocks(const int32_t* offset, int64_t out, int64_t channels, int size, int32_t* base,
                 uint16_t* index) {
  const int64_t elements = out * channels;
  int64_t x = 0, c = 0;
  int32_t furthest = 0;
  for (int64_t first = 0; first < elements; first += size, index += kBlock) {
    int32_t low = INT32_MAX, at[kBlock];
    const int count = static_cast<int>(std::min<int64_t>(size, elements - first));
    for (int i = 0; i < count; ++i) {
      at[i] = offset[x] + static_cast<int32_t>(c);
      low = std::min(low, at[i]);
      if (++c == channels) {
        c = 0;
        ++x;
      }
    }
    for (int i = 0; i < kBlock; ++i) {
      const int32_t place = i < count ? at[i] - low : 0;
      furthest = std::max(furthest, place);
      index[i] = static_cast<uint16_t>(place);
    }
    *base++ = low;
  }
  return furthest;
}

int64_t prepared_size(int64_t out, int taps, int64_t channels) {
  const int64_t blocks = (out * channels + kSmallestBlock - 1) / kSmallestBlock;
  return std::max(grouped_size(out, taps), blocks * kBlock * (taps + 2)) +
         blocks * (sizeof(int32_t) / sizeof(uint16_t));
}

HorizontalTable<uint16_t> prepare(const int32_t* offset, const uint16_t* weights, int64_t out,
                                  int taps, int64_t channels, uint16_t* memory) {
  const int64_t elements = out * channels;
  for (int size = kBlock; size >= kSmallestBlock; size /= 2) {
    const int64_t blocks = (elements + size - 1) / size;
    // Indices and weights are read in whole cache lines.
    uint16_t *index = memory, *by_block = index + blocks * kBlock;
    int32_t* base = reinterpret_cast<int32_t*>(by_block + blocks * kBlock * (1 + taps));
    const int furthest = index_blocks(offset, out, channels, size, base, index);
    if (furthest >= kSource) continue;
    const int taps_a_load = (kSource - 1 - furthest) / static_cast<int>(channels) + 1;
    // A load costs about as much as two taps; half a block is not worth less than half.
    if (taps_a_load < std::min(taps, 3) && size > kSmallestBlock) continue;
    int64_t x = 0, c = 0;
    for (int64_t b = 0; b < blocks; ++b) {
      uint16_t* to = by_block + b * (1 + taps) * kBlock;
      for (int i = 0; i < kBlock; ++i) {
        const bool inside = i < size && x < out;
        for (int k = 0; k < 1 + taps; ++k)
          to[k * kBlock + i] = inside ? weights[x * (1 + taps) + k] : 0;
        if (inside && ++c == channels) {
          c = 0;
          ++x;
        }
      }
    }
    return {.out = out,
            .taps = taps,
            .offset = base,
            .weights = by_block,
            .index = index,
            .block = size,
            .taps_a_load = taps_a_load};
  }
  return prepare_groups(offset, weights, out, taps, memory);
}

template <int kChannels, class Out>
void horizontal_blocks(const uint16_t* row, const HorizontalTable<uint16_t>& t, Out* result) {
  constexpr bool kToMid = std::is_same_v<Out, uint16_t>;
  const __m512i pixel = _mm512_set1_epi16(kChannels);
  const __m512i one = _mm512_set1_epi16(1), half = _mm512_set1_epi16(127);
  const int64_t elements = t.out * kChannels;
  const uint16_t *weights = t.weights, *index = t.index;
  const int32_t* base = t.offset;
  for (int64_t at = 0; at < elements; at += t.block, index += kBlock) {
    const uint16_t* from = row + *base++;
    __m512i sum = _mm512_loadu_si512(weights);
    weights += kBlock;
    for (int k = 0; k < t.taps;) {
      const int end = std::min(t.taps, k + t.taps_a_load);
      const __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + kBlock);
      __m512i order = _mm512_loadu_si512(index);
      from += t.taps_a_load * kChannels;
      for (; k < end; ++k, weights += kBlock) {
        const __m512i pixels = _mm512_permutex2var_epi16(low, order, high);
        sum = _mm512_add_epi16(sum, _mm512_mulhi_epu16(pixels, _mm512_loadu_si512(weights)));
        order = _mm512_add_epi16(order, pixel);
      }
    }
    const int64_t count = std::min<int64_t>(t.block, elements - at);
    const __mmask32 mask = static_cast<__mmask32>(0xffffffffu >> (32 - count));
    if constexpr (kToMid) {
      _mm512_mask_storeu_epi16(result + at, mask, sum);
    } else {  // halves to even, as Group::rounded
      const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(sum, 8), one);
      sum = _mm512_add_epi16(sum, _mm512_add_epi16(odd, half));
      _mm256_mask_storeu_epi8(result + at, mask, _mm512_cvtepi16_epi8(_mm512_srli_epi16(sum, 8)));
    }
  }
}
#else
int64_t prepared_size(int64_t out, int taps, int64_t) { return grouped_size(out, taps); }
HorizontalTable<uint16_t> prepare(const int32_t* offset, const uint16_t* weights, int64_t out,
                                  int taps, int64_t, uint16_t* memory) {
  return prepare_groups(offset, weights, out, taps, memory);
}
#endif

template <int kChannels, class Out>
void horizontal_fixed(const uint16_t* row, const HorizontalTable<uint16_t>& t, Out* result) {
#if TORCHDALI_ISA_LEVEL >= 2
  if (t.block) return horizontal_blocks<kChannels>(row, t, result);
#endif
  horizontal_groups<kChannels>(row, t, result);
}

// The fixed-point path is not taken for more channels.
template <class Out>
void horizontal_any(const uint16_t* row, const HorizontalTable<uint16_t>& t, int64_t channels,
                    Out* result) {
  switch (channels) {
    case 1: return horizontal_fixed<1>(row, t, result);
    case 2: return horizontal_fixed<2>(row, t, result);
    case 3: return horizontal_fixed<3>(row, t, result);
    default: return horizontal_fixed<4>(row, t, result);
  }
}
void finish(const uint16_t* row, const HorizontalTable<uint16_t>& t, int64_t channels, uint16_t*,
            uint8_t* result) {
  horizontal_any(row, t, channels, result);
}

}  // namespace

extern const HorizontalKernels<uint16_t, uint8_t> kFixedKernels;
const HorizontalKernels<uint16_t, uint8_t> kFixedKernels = {
    .prepare = prepare,
    .prepared_size = prepared_size,
    .to_mid = horizontal_any<uint16_t>,
    .round = nullptr,
    .finish = finish,
};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
template <>
const HorizontalKernels<uint16_t, uint8_t>& horizontal_kernels() {
  return *TORCHDALI_ISA_PICK(kFixedKernels);
}
#endif

}  // namespace torchdali::kernels
