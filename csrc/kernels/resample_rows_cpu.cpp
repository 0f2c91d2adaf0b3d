// SPDX-License-Identifier: Apache-2.0
// Row loops of resampling, compiled once per instruction set. Sums run over the taps in order, one
// rounding a step, so that all instruction sets give the same bytes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/resample_rows.h"

// The loop reads and writes the same element of memory that may be the same.
#undef TORCHDALI_INDEPENDENT_ITERATIONS
#ifdef __clang__
#define TORCHDALI_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define TORCHDALI_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

#define TORCHDALI_ISA_FILE "kernels/resample_rows_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

// Upper half of a product: what fixed point loses is half a unit on average, given back by bias().
inline uint16_t multiply_high(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>((static_cast<uint32_t>(a) * b) >> 16);
}
inline uint16_t load_mid(uint8_t v, uint16_t) { return static_cast<uint16_t>(v << 8); }
inline uint16_t load_mid(uint16_t v, uint16_t) { return v; }
template <class In>
inline float load_mid(In v, float) {
  return static_cast<float>(v);
}
inline uint16_t weigh(uint16_t v, uint16_t weight) { return multiply_high(v, weight); }
inline float weigh(float v, float weight) { return v * weight; }

template <class Mid>
inline Mid bias(int taps) {
  return std::is_same_v<Mid, uint16_t> ? static_cast<Mid>(taps / 2) : Mid(0);
}

// Middle element to result: rounds to nearest, halves to even, and saturates.
template <class Out, class Mid>
inline Out finish(Mid mid) {
  if constexpr (std::is_same_v<Out, Mid>) {
    return mid;
  } else if constexpr (std::is_same_v<Mid, uint16_t>) {
    return static_cast<Out>((mid + 128) >> 8);
  } else {
    constexpr float kLow = std::numeric_limits<Out>::min(), kHigh = std::numeric_limits<Out>::max();
    // Adding 1.5 * 2^23 leaves no bits for the fraction: the addition rounds.
    constexpr float kRound = 0x1.8p23f;
    const float bounded = std::min(std::max(mid, kLow), kHigh);
    return static_cast<Out>(static_cast<int32_t>((bounded + kRound) - kRound));
  }
}

constexpr int kTapsAtOnce = 4;

// `Out` is Mid (an unfinished sum) or the result type. Adds to `sums` where it is not null; `sums`
// may be `result`.
template <int kTaps, bool kAdd, class In, class Mid, class Out>
void blend_some(const In* const* rows, const Mid* weights, Mid start, int64_t n, const Mid* sums,
                Out* result) {
  const In *r0 = rows[0], *r1 = rows[kTaps > 1 ? 1 : 0], *r2 = rows[kTaps > 2 ? 2 : 0],
           *r3 = rows[kTaps > 3 ? 3 : 0];
  const Mid w0 = weights[0], w1 = weights[kTaps > 1 ? 1 : 0], w2 = weights[kTaps > 2 ? 2 : 0],
            w3 = weights[kTaps > 3 ? 3 : 0];
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    Mid sum = kAdd ? sums[i] : start;
    sum = static_cast<Mid>(sum + weigh(load_mid(r0[i], Mid()), w0));
    if constexpr (kTaps > 1) sum = static_cast<Mid>(sum + weigh(load_mid(r1[i], Mid()), w1));
    if constexpr (kTaps > 2) sum = static_cast<Mid>(sum + weigh(load_mid(r2[i], Mid()), w2));
    if constexpr (kTaps > 3) sum = static_cast<Mid>(sum + weigh(load_mid(r3[i], Mid()), w3));
    result[i] = finish<Out>(sum);
  }
}

template <bool kAdd, class In, class Mid, class Out>
void blend_last(const In* const* rows, const Mid* weights, int taps, Mid start, int64_t n,
                const Mid* sums, Out* result) {
  switch (taps) {
    case 1: return blend_some<1, kAdd>(rows, weights, start, n, sums, result);
    case 2: return blend_some<2, kAdd>(rows, weights, start, n, sums, result);
    case 3: return blend_some<3, kAdd>(rows, weights, start, n, sums, result);
    default: return blend_some<4, kAdd>(rows, weights, start, n, sums, result);
  }
}

template <class In, class Mid, class Out>
void blend_all(const In* const* rows, const Mid* weights, int taps, int64_t n, Mid* buffer,
               Out* result) {
  const Mid start = bias<Mid>(taps);
  if (taps <= kTapsAtOnce)
    return blend_last<false>(rows, weights, taps, start, n, static_cast<const Mid*>(nullptr),
                             result);
  const Mid* none = nullptr;
  blend_some<kTapsAtOnce, false>(rows, weights, start, n, none, buffer);
  for (taps -= kTapsAtOnce;; taps -= kTapsAtOnce) {
    rows += kTapsAtOnce;
    weights += kTapsAtOnce;
    if (taps <= kTapsAtOnce) break;
    blend_some<kTapsAtOnce, true>(rows, weights, start, n, buffer, buffer);
  }
  blend_last<true>(rows, weights, taps, start, n, buffer, result);
}

template <class In, class Mid>
void blend_to_mid(const In* const* rows, const Mid* weights, int taps, int64_t n, Mid* result) {
  blend_all<In, Mid, Mid>(rows, weights, taps, n, result, result);
}

template <class In, class Mid>
void to_mid(const In* row, int64_t n, Mid* result) {
  for (int64_t i = 0; i < n; ++i) result[i] = load_mid(row[i], Mid());
}

// Horizontal pass. Pixels of up to 4 channels are handled as 4 elements, whatever follows in the
// row included; each store runs over the next pixel, which is written afterwards.
constexpr int kSlots = 4;
// Pixels that one step of the fixed-point horizontal pass makes.
constexpr int kPixelGroup = 4;

HorizontalTable<float> prepare(int32_t* offset, const float* weights, int64_t out, int taps,
                               int64_t, float*) {
  return {.out = out, .taps = taps, .offset = offset, .weights = weights};
}

// Weights in groups: [ceil(out / 4), taps, 4 pixels, 4 equal numbers].
int64_t grouped_size(int64_t out, int taps) {
  return (out + kPixelGroup - 1) / kPixelGroup * taps * kPixelGroup * kSlots;
}
HorizontalTable<uint16_t> prepare_groups(const int32_t* offset, const uint16_t* weights,
                                         int64_t out, int taps, uint16_t* memory) {
  uint16_t* to = memory;
  for (int64_t first = 0; first < out; first += kPixelGroup) {
    for (int k = 0; k < taps; ++k) {
      for (int64_t x = first; x < first + kPixelGroup; ++x, to += kSlots)
        std::fill(to, to + kSlots, x < out ? weights[x * taps + k] : uint16_t{0});
    }
  }
  return {.out = out, .taps = taps, .offset = offset, .weights = memory};
}

template <class Mid, class Out>
void finish_row(const Mid* row, int64_t n, Out* result) {
  for (int64_t i = 0; i < n; ++i) result[i] = finish<Out>(row[i]);
}

// Many channels: the compiler vectorises over them.
template <class Mid>
void horizontal_wide(const Mid* row, const HorizontalTable<Mid>& t, int64_t channels,
                     Mid* __restrict result) {
  for (int64_t x = 0; x < t.out; ++x, result += channels) {
    const Mid* from = row + t.offset[x];
    const Mid* weights = t.weights + x * t.taps;
    for (int64_t c = 0; c < channels; ++c) result[c] = from[c] * weights[0];
    for (int k = 1; k < t.taps; ++k) {
      from += channels;
      for (int64_t c = 0; c < channels; ++c) result[c] += from[c] * weights[k];
    }
  }
}

typedef float Slots __attribute__((vector_size(16)));

template <int kChannels>
void horizontal_slots(const float* row, const HorizontalTable<float>& t, float* result) {
  const int taps = t.taps;
  const float* weights = t.weights;
  for (int64_t x = 0; x < t.out; ++x, result += kChannels, weights += taps) {
    const float* from = row + t.offset[x];
    Slots pixel;
    std::memcpy(&pixel, from, sizeof(pixel));
    Slots sum = pixel * weights[0];
    for (int k = 1; k < taps; ++k) {
      from += kChannels;
      std::memcpy(&pixel, from, sizeof(pixel));
      sum += pixel * weights[k];
    }
    std::memcpy(result, &sum, sizeof(sum));
  }
}

void horizontal_to_mid(const float* row, const HorizontalTable<float>& t, int64_t channels,
                       float* result) {
  switch (channels) {
    case 1: return horizontal_slots<1>(row, t, result);
    case 2: return horizontal_slots<2>(row, t, result);
    case 3: return horizontal_slots<3>(row, t, result);
    case 4: return horizontal_slots<4>(row, t, result);
    default: return horizontal_wide(row, t, channels, result);
  }
}

template <class Out>
void horizontal(const float* row, const HorizontalTable<float>& t, int64_t channels, float* buffer,
                Out* result) {
  horizontal_to_mid(row, t, channels, buffer);
  finish_row(buffer, t.out * channels, result);
}

#ifdef __x86_64__
#define TORCHDALI_RESAMPLE_SSE 1
#else
#define TORCHDALI_RESAMPLE_SSE 0
#endif

// The plain loop below takes 180 us for this pass of 300 x 300 -> 224 x 224, 3 channels, on Zen 5,
// whatever the instruction set: the compiler does not vectorise it. By groups: SSE2 50 us, AVX2 40
// us.
#if TORCHDALI_RESAMPLE_SSE
// Two pixels, 4 elements each.
inline __m128i load_two(const uint16_t* row, int32_t a, int32_t b) {
  const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + a));
  return _mm_castpd_si128(
      _mm_loadh_pd(_mm_castsi128_pd(low), reinterpret_cast<const double*>(row + b)));
}

// Sums of a group of 4 pixels, 4 elements each.
struct Group {
#if TORCHDALI_ISA_LEVEL >= 1
  __m256i sum;
  explicit Group(uint16_t start) : sum(_mm256_set1_epi16(static_cast<int16_t>(start))) {}
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
  explicit Group(uint16_t start) : sum0(_mm_set1_epi16(static_cast<int16_t>(start))), sum1(sum0) {}
  void add(const uint16_t* row, const int32_t* at, const uint16_t* weights) {
    const __m128i* w = reinterpret_cast<const __m128i*>(weights);
    sum0 = _mm_add_epi16(sum0, _mm_mulhi_epu16(load_two(row, at[0], at[1]), _mm_loadu_si128(w)));
    sum1 =
        _mm_add_epi16(sum1, _mm_mulhi_epu16(load_two(row, at[2], at[3]), _mm_loadu_si128(w + 1)));
  }
  __m128i low() const { return sum0; }
  __m128i high() const { return sum1; }
#endif
  // 4 pixels of 4 bytes.
  __m128i bytes() const {
    return _mm_packus_epi16(_mm_srli_epi16(low(), 8), _mm_srli_epi16(high(), 8));
  }
};

template <int kChannels>
inline void store_mid(const Group& g, uint16_t* result) {
  const __m128i low = g.low(), high = g.high();
  _mm_storel_epi64(reinterpret_cast<__m128i*>(result), low);
  _mm_storeh_pd(reinterpret_cast<double*>(result + kChannels), _mm_castsi128_pd(low));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(result + 2 * kChannels), high);
  _mm_storeh_pd(reinterpret_cast<double*>(result + 3 * kChannels), _mm_castsi128_pd(high));
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
  const uint16_t start = static_cast<uint16_t>(bias<uint16_t>(t.taps) + (kToMid ? 0 : 128));
  const uint16_t* weights = t.weights;
  const int64_t size = t.out * kChannels;
  for (int64_t x = 0; x < t.out; x += kPixelGroup) {
    Group g(start);
    const uint16_t* from = row;
    for (int k = 0; k < t.taps; ++k) {
      g.add(from, t.offset + x, weights);
      from += kChannels;
      weights += kPixelGroup * kSlots;
    }
    const int64_t at = x * kChannels;
    if constexpr (kToMid) {
      store_mid<kChannels>(g, result + at);
    } else if (at + 16 <= size) {
      store_bytes<kChannels>(g, result + at);
    } else {  // the end of the row belongs to someone else
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
  const uint16_t start = static_cast<uint16_t>(bias<uint16_t>(t.taps) + (kToMid ? 0 : 128));
  for (int64_t x = 0; x < t.out; ++x) {
    const uint16_t* from = row + t.offset[x];
    const uint16_t* weights =
        t.weights + (x / kPixelGroup * t.taps * kPixelGroup + x % kPixelGroup) * kSlots;
    uint16_t sum[kChannels];
    for (int c = 0; c < kChannels; ++c) sum[c] = start;
    for (int k = 0; k < t.taps; ++k, from += kChannels, weights += kPixelGroup * kSlots)
      for (int c = 0; c < kChannels; ++c)
        sum[c] = static_cast<uint16_t>(sum[c] + multiply_high(from[c], *weights));
    for (int c = 0; c < kChannels; ++c)
      result[x * kChannels + c] = static_cast<Out>(kToMid ? sum[c] : sum[c] >> 8);
  }
}
#endif  // TORCHDALI_RESAMPLE_SSE

#if TORCHDALI_ISA_LEVEL >= 2
// AVX-512: a block of neighbouring elements is gathered from two registers by one permutation a
// tap. All taps use the same indices, each one pixel further.
// This pass of 300 x 300 -> 224 x 224, 3 channels, on Zen 5: 40 us by groups, 13.5 us by blocks.
constexpr int kBlock = 32, kSmallestBlock = 8, kSource = 64;

// Indices of blocks of `size` elements. Returns the largest index: kSource or more means that the
// blocks are too large.
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

int64_t fixed_prepared_size(int64_t out, int taps, int64_t channels) {
  const int64_t blocks = (out * channels + kSmallestBlock - 1) / kSmallestBlock;
  return std::max(grouped_size(out, taps), blocks * kBlock * (taps + 1)) +
         blocks * (sizeof(int32_t) / sizeof(uint16_t));
}

HorizontalTable<uint16_t> prepare(int32_t* offset, const uint16_t* weights, int64_t out, int taps,
                                  int64_t channels, uint16_t* memory) {
  const int64_t elements = out * channels;
  for (int size = kBlock; size >= kSmallestBlock; size /= 2) {
    const int64_t blocks = (elements + size - 1) / size;
    // Indices and weights are read in whole cache lines.
    uint16_t *index = memory, *by_block = index + blocks * kBlock;
    int32_t* base = reinterpret_cast<int32_t*>(by_block + blocks * kBlock * taps);
    const int furthest = index_blocks(offset, out, channels, size, base, index);
    if (furthest >= kSource) continue;
    const int taps_a_load = (kSource - 1 - furthest) / static_cast<int>(channels) + 1;
    // A load costs about as much as two taps; half a block is not worth less than half.
    if (taps_a_load < std::min(taps, 3) && size > kSmallestBlock) continue;
    int64_t x = 0, c = 0;
    for (int64_t b = 0; b < blocks; ++b) {
      uint16_t* to = by_block + b * taps * kBlock;
      for (int i = 0; i < kBlock; ++i) {
        const bool inside = i < size && x < out;
        for (int k = 0; k < taps; ++k) to[k * kBlock + i] = inside ? weights[x * taps + k] : 0;
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
  const __m512i start =
      _mm512_set1_epi16(static_cast<int16_t>(bias<uint16_t>(t.taps) + (kToMid ? 0 : 128)));
  const __m512i pixel = _mm512_set1_epi16(kChannels);
  const int64_t elements = t.out * kChannels;
  const uint16_t *weights = t.weights, *index = t.index;
  const int32_t* base = t.offset;
  for (int64_t at = 0; at < elements; at += t.block, index += kBlock) {
    const uint16_t* from = row + *base++;
    __m512i sum = start;
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
    if constexpr (kToMid) _mm512_mask_storeu_epi16(result + at, mask, sum);
    else
      _mm256_mask_storeu_epi8(result + at, mask, _mm512_cvtepi16_epi8(_mm512_srli_epi16(sum, 8)));
  }
}
#else
int64_t fixed_prepared_size(int64_t out, int taps, int64_t) { return grouped_size(out, taps); }
HorizontalTable<uint16_t> prepare(int32_t* offset, const uint16_t* weights, int64_t out, int taps,
                                  int64_t, uint16_t* memory) {
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

template <class Mid>
int64_t prepared_size(int64_t out, int taps, int64_t channels) {
  return std::is_same_v<Mid, float> ? 0 : fixed_prepared_size(out, taps, channels);
}

// The fixed-point path is not taken for more channels.
template <class Out>
void horizontal_fixed_any(const uint16_t* row, const HorizontalTable<uint16_t>& t, int64_t channels,
                          Out* result) {
  switch (channels) {
    case 1: return horizontal_fixed<1>(row, t, result);
    case 2: return horizontal_fixed<2>(row, t, result);
    case 3: return horizontal_fixed<3>(row, t, result);
    default: return horizontal_fixed<4>(row, t, result);
  }
}
void horizontal_to_mid(const uint16_t* row, const HorizontalTable<uint16_t>& t, int64_t channels,
                       uint16_t* result) {
  horizontal_fixed_any(row, t, channels, result);
}
void horizontal(const uint16_t* row, const HorizontalTable<uint16_t>& t, int64_t channels,
                uint16_t*, uint8_t* result) {
  horizontal_fixed_any(row, t, channels, result);
}

}  // namespace

template <class In, class Mid, class Out>
const RowKernels<In, Mid, Out> kRowKernels = {
    .blend_to_mid = blend_to_mid<In, Mid>,
    .blend = blend_all<In, Mid, Out>,
    .blend_mid = blend_all<Mid, Mid, Out>,
    .to_mid = to_mid<In, Mid>,
    .prepare = prepare,
    .prepared_size = prepared_size<Mid>,
    .horizontal_to_mid = horizontal_to_mid,
    .horizontal = horizontal,
};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
template <class In, class Mid, class Out>
const RowKernels<In, Mid, Out>& row_kernels() {
  return *TORCHDALI_ISA_PICK(kRowKernels<In, Mid, Out>);
}
#define TORCHDALI_ROW_KERNELS(In, Mid, Out) \
  template const RowKernels<In, Mid, Out>& row_kernels<In, Mid, Out>()
TORCHDALI_ROW_KERNELS(uint8_t, uint16_t, uint8_t);
TORCHDALI_ROW_KERNELS(uint8_t, float, uint8_t);
TORCHDALI_ROW_KERNELS(uint8_t, float, float);
TORCHDALI_ROW_KERNELS(uint16_t, float, uint16_t);
TORCHDALI_ROW_KERNELS(uint16_t, float, float);
TORCHDALI_ROW_KERNELS(int16_t, float, int16_t);
TORCHDALI_ROW_KERNELS(int16_t, float, float);
TORCHDALI_ROW_KERNELS(float, float, float);
TORCHDALI_ROW_KERNELS(float, float, uint8_t);
TORCHDALI_ROW_KERNELS(float, float, uint16_t);
TORCHDALI_ROW_KERNELS(float, float, int16_t);
#undef TORCHDALI_ROW_KERNELS
#endif

}  // namespace torchdali::kernels
