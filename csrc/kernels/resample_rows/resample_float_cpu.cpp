// SPDX-License-Identifier: Apache-2.0
// The horizontal pass of resampling in float; compiled once per instruction set. Sums are over the
// taps in order, with one rounding per step, so that results are bit-identical.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/resample_rows/resample_rows.h"
#include "kernels/resample_rows/round_middle.h"

#define TORCHDALI_ISA_FILE "kernels/resample_rows/resample_float_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

// Many channels: the compiler vectorizes over them.
void horizontal_wide(const float* row, const HorizontalTable<float>& t, int64_t channels,
                     float* __restrict result) {
  for (int64_t x = 0; x < t.out; ++x, result += channels) {
    const float* from = row + t.offset[x];
    const float* weights = t.weights + x * t.taps;
    for (int64_t c = 0; c < channels; ++c) result[c] = from[c] * weights[0];
    for (int k = 1; k < t.taps; ++k) {
      from += channels;
      for (int64_t c = 0; c < channels; ++c) result[c] += from[c] * weights[k];
    }
  }
}

#if TORCHDALI_ISA_LEVEL >= 1
// Pixels of one channel are processed in groups of 8, others in groups of 4, of which each has 4
// elements, including the start of the next pixel; each store overwrites the next pixel, which is
// written afterwards. Weights: [groups, taps, pixels of a group].
constexpr int kMaxSlots = 4;
int group_of(int64_t channels) { return channels == 1 ? 8 : 4; }

// Adding to it changes nothing, not even the sign of a zero.
constexpr float kNothing = -0.0f;

void prepare_groups(const float* weights, int64_t out, int taps, int group, float* to) {
  for (int64_t first = 0; first < out; first += group)
    for (int k = 0; k < taps; ++k)
      for (int64_t x = first; x < first + group; ++x)
        *to++ = x < out ? weights[x * taps + k] : 0.0f;
}

inline __m256 two_halves(const float* low, const float* high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
inline __m128 two_pairs(const float* low, const float* high) {
  return _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(low))),
                      reinterpret_cast<const __m64*>(high));
}
inline __m256 four_pairs(const float* a, const float* b, const float* c, const float* d) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(two_pairs(a, b)), two_pairs(c, d), 1);
}
inline __m256 add_product(__m256 sum, __m256 pixels, const float* weights) {
  return _mm256_add_ps(sum, _mm256_mul_ps(pixels, _mm256_loadu_ps(weights)));
}

// 8 pixels of one channel: their taps are loaded by pixel and transposed. `at`: their first taps.
// `kTaps`: 0 stands for `any` number.
template <int kTaps>
inline __m256 sum_of_8(const float* row, const int32_t* at, const float* weights, int any) {
  const int taps = kTaps ? kTaps : any;
  __m256 sum = _mm256_set1_ps(kNothing);
  int k = 0;
  for (; taps - k > 2; k += 4, row += 4, weights += 32) {
    const __m256 a = two_halves(row + at[0], row + at[4]), b = two_halves(row + at[1], row + at[5]),
                 c = two_halves(row + at[2], row + at[6]), d = two_halves(row + at[3], row + at[7]);
    const __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d),
                 ab2 = _mm256_unpackhi_ps(a, b), cd2 = _mm256_unpackhi_ps(c, d);
    sum = add_product(sum, _mm256_shuffle_ps(ab, cd, 0x44), weights);
    sum = add_product(sum, _mm256_shuffle_ps(ab, cd, 0xee), weights + 8);
    sum = add_product(sum, _mm256_shuffle_ps(ab2, cd2, 0x44), weights + 16);
    if (taps - k > 3) sum = add_product(sum, _mm256_shuffle_ps(ab2, cd2, 0xee), weights + 24);
  }
  if (k < taps) {
    const __m256 ab = four_pairs(row + at[0], row + at[1], row + at[4], row + at[5]),
                 cd = four_pairs(row + at[2], row + at[3], row + at[6], row + at[7]);
    sum = add_product(sum, _mm256_shuffle_ps(ab, cd, 0x88), weights);
    if (taps - k > 1) sum = add_product(sum, _mm256_shuffle_ps(ab, cd, 0xdd), weights + 8);
  }
  return sum;
}

template <int kTaps>
void taps_of_one(const float* row, const HorizontalTable<float>& t, float* result) {
  const float* weights = t.weights;
  const int32_t* at = t.offset;
  const int64_t out = t.out, taps = t.taps;
  for (int64_t x = 0; x < out; x += 8, weights += 8 * taps, at += 8)
    _mm256_storeu_ps(result + x, sum_of_8<kTaps>(row, at, weights, static_cast<int>(taps)));
}
void horizontal_one(const float* row, const HorizontalTable<float>& t, float* result) {
  switch (t.taps) {
    case 2: return taps_of_one<2>(row, t, result);
    case 4: return taps_of_one<4>(row, t, result);
    default: return taps_of_one<0>(row, t, result);
  }
}

template <int kChannels, int kTaps>
void horizontal_taps(const float* row, const HorizontalTable<float>& t, float* result) {
  const float* weights = t.weights;
  const int64_t out = t.out, taps = kTaps ? kTaps : t.taps;
  const __m256i first = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1),
                second = _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
  for (int64_t x = 0; x < out; x += 4, result += 4 * kChannels) {
    const int32_t* at = t.offset + x;
    const float *a = row + at[0], *b = row + at[1], *c = row + at[2], *d = row + at[3];
    __m256 ab = _mm256_set1_ps(kNothing), cd = ab;
    for (int64_t k = 0; k < taps * kChannels; k += kChannels, weights += 4) {
      const __m256 w = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(weights));
      ab = _mm256_add_ps(ab,
                         _mm256_mul_ps(two_halves(a + k, b + k), _mm256_permutevar_ps(w, first)));
      cd = _mm256_add_ps(cd,
                         _mm256_mul_ps(two_halves(c + k, d + k), _mm256_permutevar_ps(w, second)));
    }
    _mm_storeu_ps(result, _mm256_castps256_ps128(ab));
    _mm_storeu_ps(result + kChannels, _mm256_extractf128_ps(ab, 1));
    _mm_storeu_ps(result + 2 * kChannels, _mm256_castps256_ps128(cd));
    _mm_storeu_ps(result + 3 * kChannels, _mm256_extractf128_ps(cd, 1));
  }
}
template <int kChannels>
void horizontal_slots(const float* row, const HorizontalTable<float>& t, float* result) {
  switch (t.taps) {
    case 2: return horizontal_taps<kChannels, 2>(row, t, result);
    case 4: return horizontal_taps<kChannels, 4>(row, t, result);
    default: return horizontal_taps<kChannels, 0>(row, t, result);
  }
}

int64_t grouped_size(int64_t out, int taps, int64_t channels) {
  const int64_t group = group_of(channels);
  return channels > kMaxSlots ? 0 : (out + group - 1) / group * group * taps;
}
HorizontalTable<float> grouped(const int32_t* offset, const float* weights, int64_t out, int taps,
                               int64_t channels, float* memory) {
  if (channels <= kMaxSlots) {
    prepare_groups(weights, out, taps, group_of(channels), memory);
    weights = memory;
  }
  return {.out = out, .taps = taps, .offset = offset, .weights = weights};
}
#else
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
void horizontal_one(const float* row, const HorizontalTable<float>& t, float* result) {
  horizontal_slots<1>(row, t, result);
}
#endif

#if TORCHDALI_ISA_LEVEL >= 1
// Blocks of adjacent elements, whose taps are permuted from one register or, with AVX-512, from
// two.
constexpr int kBlock = TORCHDALI_ISA_LEVEL >= 2 ? 16 : 8,
              kSource = TORCHDALI_ISA_LEVEL >= 2 ? 2 * kBlock : kBlock;

int64_t blocks_of(int64_t elements) { return (elements + kBlock - 1) / kBlock; }
int64_t prepared_size(int64_t out, int taps, int64_t channels) {
  if (channels > kMaxSlots) return 0;
  // Weights, then indices of 2 bytes and one start per block.
  const int64_t blocks = blocks_of(out * channels) * (kBlock * taps + kBlock / 2 + 1);
  return std::max(grouped_size(out, taps, channels), blocks);
}

// The source of each element of the result, by blocks: calls fn(element, pixel, source).
template <class Fn>
void for_block(const int32_t* offset, int64_t out, int64_t channels, int64_t block, Fn fn) {
  const int64_t first = block * kBlock, end = std::min(first + kBlock, out * channels);
  int64_t x = first / channels, c = first % channels;
  for (int64_t e = first; e < end; ++e) {
    fn(static_cast<int>(e - first), x, offset[x] + static_cast<int32_t>(c));
    if (++c == channels) c = 0, ++x;
  }
}
int32_t lowest_of(const int32_t* offset, int64_t out, int64_t channels, int64_t block) {
  int32_t low = INT32_MAX;
  for_block(offset, out, channels, block,
            [&](int, int64_t, int32_t source) { low = std::min(low, source); });
  return low;
}

HorizontalTable<float> prepare(const int32_t* offset, const float* weights, int64_t out, int taps,
                               int64_t channels, float* memory) {
  if (channels > kMaxSlots) return grouped(offset, weights, out, taps, channels, memory);
  const int64_t blocks = blocks_of(out * channels);
  int furthest = 0;
  for (int64_t b = 0; b < blocks && furthest < kSource; ++b) {
    const int32_t low = lowest_of(offset, out, channels, b);
    for_block(offset, out, channels, b,
              [&](int, int64_t, int32_t source) { furthest = std::max(furthest, source - low); });
  }
  const int taps_a_load =
      furthest < kSource ? (kSource - 1 - furthest) / static_cast<int>(channels) + 1 : 0;
  if (taps_a_load < (kSource > kBlock ? std::min(taps, 2) : 1))
    return grouped(offset, weights, out, taps, channels, memory);
  uint16_t* index = reinterpret_cast<uint16_t*>(memory + blocks * kBlock * taps);
  int32_t* base = reinterpret_cast<int32_t*>(index + blocks * kBlock);
  HorizontalTable<float> table = {.out = out,
                                  .taps = taps,
                                  .offset = base,
                                  .weights = memory,
                                  .index = index,
                                  .block = kBlock,
                                  .taps_a_load = taps_a_load};
  std::fill(memory, memory + blocks * kBlock * taps, 0.0f);
  std::fill(index, index + blocks * kBlock, uint16_t{0});
  for (int64_t b = 0; b < blocks; ++b, index += kBlock, memory += kBlock * taps) {
    base[b] = lowest_of(offset, out, channels, b);
    for_block(offset, out, channels, b, [&](int i, int64_t x, int32_t source) {
      index[i] = static_cast<uint16_t>(source - base[b]);
      for (int k = 0; k < taps; ++k) memory[k * kBlock + i] = weights[x * taps + k];
    });
  }
  return table;
}
#else
int64_t prepared_size(int64_t, int, int64_t) { return 0; }
HorizontalTable<float> prepare(const int32_t* offset, const float* weights, int64_t out, int taps,
                               int64_t, float*) {
  return {.out = out, .taps = taps, .offset = offset, .weights = weights};
}
#endif

#if TORCHDALI_ISA_LEVEL >= 2
void horizontal_blocks(const float* row, const HorizontalTable<float>& t, int64_t channels,
                       float* result) {
  const __m512i pixel = _mm512_set1_epi32(static_cast<int>(channels));
  const float* weights = t.weights;
  const uint16_t* index = t.index;
  const int32_t* base = t.offset;
  const int64_t elements = t.out * channels, further = t.taps_a_load * channels;
  for (int64_t x = 0; x < elements; x += kBlock, index += kBlock) {
    const float* from = row + *base++;
    const __m512i first =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(index)));
    __m512 sum = _mm512_set1_ps(kNothing);
    for (int k = 0; k < t.taps; from += further) {
      const int end = std::min(t.taps, k + t.taps_a_load);
      const __m512 low = _mm512_loadu_ps(from), high = _mm512_loadu_ps(from + kBlock);
      __m512i order = first;
      for (; k < end; ++k, weights += kBlock) {
        const __m512 pixels = _mm512_permutex2var_ps(low, order, high);
        sum = _mm512_add_ps(sum, _mm512_mul_ps(pixels, _mm512_loadu_ps(weights)));
        order = _mm512_add_epi32(order, pixel);
      }
    }
    _mm512_storeu_ps(result + x, sum);
  }
}
#elif TORCHDALI_ISA_LEVEL == 1
void horizontal_blocks(const float* row, const HorizontalTable<float>& t, int64_t channels,
                       float* result) {
  const float* weights = t.weights;
  const uint16_t* index = t.index;
  const int32_t* base = t.offset;
  const int64_t elements = t.out * channels, end = t.taps * channels;
  for (int64_t x = 0; x < elements; x += kBlock, index += kBlock) {
    const float* from = row + *base++;
    const __m256i order =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(index)));
    __m256 sum = _mm256_set1_ps(kNothing);
    for (int64_t k = 0; k < end; k += channels, weights += kBlock)
      sum = add_product(sum, _mm256_permutevar8x32_ps(_mm256_loadu_ps(from + k), order), weights);
    _mm256_storeu_ps(result + x, sum);
  }
}
#endif

void horizontal_to_mid(const float* row, const HorizontalTable<float>& t, int64_t channels,
                       float* result) {
#if TORCHDALI_ISA_LEVEL >= 1
  if (t.block) return horizontal_blocks(row, t, channels, result);
#endif
  switch (channels) {
    case 1: return horizontal_one(row, t, result);
    case 2: return horizontal_slots<2>(row, t, result);
    case 3: return horizontal_slots<3>(row, t, result);
    case 4: return horizontal_slots<4>(row, t, result);
    default: return horizontal_wide(row, t, channels, result);
  }
}

template <class Out>
void round_row(const float* row, int64_t n, Out* result) {
  for (int64_t i = 0; i < n; ++i) result[i] = round_middle<Out>(row[i]);
}

template <class Out>
void horizontal(const float* row, const HorizontalTable<float>& t, int64_t channels, float* buffer,
                Out* result) {
  horizontal_to_mid(row, t, channels, buffer);
  round_row(buffer, t.out * channels, result);
}

}  // namespace

template <class Out>
const HorizontalKernels<float, Out> kHorizontalKernels = {
    .prepare = prepare,
    .prepared_size = prepared_size,
    .to_mid = horizontal_to_mid,
    .round = round_row<Out>,
    .finish = horizontal<Out>,
};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
template <class Mid, class Out>
const HorizontalKernels<Mid, Out>& horizontal_kernels() {
  return *TORCHDALI_ISA_PICK(kHorizontalKernels<Out>);
}
template const HorizontalKernels<float, uint8_t>& horizontal_kernels<float, uint8_t>();
template const HorizontalKernels<float, uint16_t>& horizontal_kernels<float, uint16_t>();
template const HorizontalKernels<float, int16_t>& horizontal_kernels<float, int16_t>();
template const HorizontalKernels<float, float>& horizontal_kernels<float, float>();
#endif

}  // namespace torchdali::kernels
