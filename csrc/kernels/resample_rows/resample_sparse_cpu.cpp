// SPDX-License-Identifier: Apache-2.0
// Loops over single pixels with two taps along both axes (AVX2 and later); compiled once per
// instruction set.
#include "kernels/resample_rows/resample_sparse.h"

#include <algorithm>
#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/resample_rows/resample_sparse_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

#if TORCHDALI_ISA_LEVEL >= 1
constexpr int kTaps = 2;
// Pixels of a step. Tables are filled up to a whole one.
constexpr int64_t kMaxStep = 8;
int64_t padded(int64_t out) { return (out + kMaxStep - 1) / kMaxStep * kMaxStep; }
bool is_possible(int64_t channels) { return channels == 1 || channels == 3 || channels == 4; }

// What is read of a pixel: both taps and, with three channels, more.
template <class T, int kChannels>
constexpr int kRead = kChannels == 1 ? 2 : 8;

// The elements of pixel x; from `copy` if more than the row would be read.
template <int kChannels, class T, class Mid>
inline const T* pixel_of(const T* row, const SparseTable<Mid>& t, int64_t x, T* copy) {
  const T* from = row + t.offset[x];
  if (t.offset[x] + kRead<T, kChannels> <= t.width) return from;
  std::memcpy(copy, from, kTaps * kChannels * sizeof(T));
  return copy;
}

// --- Fixed point -------------------------------------------------------------------------------

// One channel: [8 starts of 32 bits, 8 pairs of weights], otherwise [4 x (start, 4 times), 4 x
// (both weights for each channel, 8 elements)] for each step.
int64_t prepared_size(int64_t out, int64_t channels) {
  return !is_possible(channels) ? 0 : padded(out) * (channels == 1 ? 4 : 12);
}
SparseTable<uint16_t> prepare(const int32_t* offset, const uint16_t* weights, int64_t out,
                              int64_t channels, int64_t width, uint16_t* memory) {
  if (!is_possible(channels)) return {};
  const int64_t step = channels == 1 ? 8 : 4, starts = channels == 1 ? 2 : 4;
  const int64_t per_pixel = channels == 1 ? 2 : 8;
  std::fill(memory, memory + prepared_size(out, channels), uint16_t{0});
  for (int64_t x = 0; x < out; ++x, weights += 1 + kTaps) {
    uint16_t* group = memory + x / step * step * (starts + per_pixel);
    uint16_t* to = group + x % step * starts;
    if (channels == 1) *to = weights[0];
    else std::fill(to, to + starts, weights[0]);
    // The first register of a step holds pixels 0 and 2, the second one pixels 1 and 3.
    const int64_t place = channels == 1 ? x % step : x % 2 * 2 + x % step / 2;
    to = group + step * starts + place * per_pixel;
    for (int k = 0; k < kTaps; ++k, to += channels) std::fill(to, to + channels, weights[1 + k]);
  }
  return {.out = out, .channels = channels, .offset = offset, .width = width, .weights = memory};
}

inline __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
// Bytes as middle elements.
inline __m256i to_mid(__m128i bytes) { return _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 8); }

struct Blend {
  __m256i start, first, second;
  Blend(const uint16_t* weights, uint16_t start_of_sum)
      : start(_mm256_set1_epi16(static_cast<int16_t>(start_of_sum))),
        first(_mm256_set1_epi16(static_cast<int16_t>(weights[0]))),
        second(_mm256_set1_epi16(static_cast<int16_t>(weights[1]))) {}
  __m256i operator()(__m128i a, __m128i b) const {
    return _mm256_add_epi16(_mm256_add_epi16(start, _mm256_mulhi_epu16(to_mid(a), first)),
                            _mm256_mulhi_epu16(to_mid(b), second));
  }
};

// Halves to even: adds 127 or, before odd numbers, 128. Of 16 elements.
inline __m256i rounded(__m256i sum) {
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(sum, 8), _mm256_set1_epi16(1));
  return _mm256_srli_epi16(_mm256_add_epi16(sum, _mm256_add_epi16(odd, _mm256_set1_epi16(127))), 8);
}

// 8 pixels of one channel, as 8 bytes.
inline __m128i make_step_of_1(const uint8_t* const* rows, const Blend& blend, const int32_t* at,
                              const uint16_t* weights) {
  const auto gather = [&](const uint8_t* row) {
    const auto two = [&](int i) {
      int16_t taps;
      std::memcpy(&taps, row + at[i], sizeof(taps));
      return taps;
    };
    __m128i v = _mm_cvtsi32_si128(two(0));
    v = _mm_insert_epi16(v, two(1), 1);
    v = _mm_insert_epi16(v, two(2), 2);
    v = _mm_insert_epi16(v, two(3), 3);
    v = _mm_insert_epi16(v, two(4), 4);
    v = _mm_insert_epi16(v, two(5), 5);
    v = _mm_insert_epi16(v, two(6), 6);
    return _mm_insert_epi16(v, two(7), 7);
  };
  const __m256i blended = blend(gather(rows[0]), gather(rows[1]));
  const __m256i products = _mm256_mulhi_epu16(blended, load(weights + 16));
  // The sum is in the lower half of 32 bits.
  const __m256i sum =
      _mm256_add_epi16(_mm256_add_epi16(load(weights), products), _mm256_srli_epi32(products, 16));
  const __m256i bytes = _mm256_and_si256(rounded(sum), _mm256_set1_epi32(0xff));
  const __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  return _mm_packus_epi16(words, words);
}

// 4 pixels of 3 or 4 channels, as 4 bytes each.
template <int kChannels>
inline __m128i make_step_of_many(const uint8_t* const* rows, const Blend& blend,
                                 const SparseTable<uint16_t>& t, int64_t x,
                                 const uint16_t* weights) {
  uint8_t copies[2][8];
  const auto sums = [&](int64_t low, int64_t high, const uint16_t* w) {
    const auto gather = [&](const uint8_t* row) {
      const auto pixel = [&](int64_t i, uint8_t* copy) {
        return _mm_loadl_epi64(
            reinterpret_cast<const __m128i*>(pixel_of<kChannels>(row, t, i, copy)));
      };
      return _mm_unpacklo_epi64(pixel(low, copies[0]), pixel(high, copies[1]));
    };
    const __m256i products = _mm256_mulhi_epu16(blend(gather(rows[0]), gather(rows[1])), load(w));
    return _mm256_add_epi16(products, _mm256_srli_si256(products, 2 * kChannels));
  };
  const __m256i even = sums(x, x + 2, weights + 16), odd = sums(x + 1, x + 3, weights + 32);
  const __m256i bytes = rounded(_mm256_add_epi16(load(weights), _mm256_unpacklo_epi64(even, odd)));
  return _mm_packus_epi16(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
}

template <int kChannels>
void make_bytes(const uint8_t* const* rows, const Blend& blend, const SparseTable<uint16_t>& t,
                uint8_t* result) {
  constexpr int kStep = kChannels == 1 ? 8 : 4, kMade = kStep * kChannels;
  constexpr int kWeights = kStep * (kChannels == 1 ? 4 : 12);
  const __m128i close = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const uint16_t* weights = t.weights;
  for (int64_t x = 0; x < t.out; x += kStep, weights += kWeights) {
    __m128i bytes;
    if constexpr (kChannels == 1) bytes = make_step_of_1(rows, blend, t.offset + x, weights);
    else bytes = make_step_of_many<kChannels>(rows, blend, t, x, weights);
    if constexpr (kChannels == 3) bytes = _mm_shuffle_epi8(bytes, close);
    alignas(16) uint8_t made[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(made), bytes);
    uint8_t* to = result + x * kChannels;
    if (x + kStep <= t.out) std::memcpy(to, made, kMade);
    else std::memcpy(to, made, static_cast<size_t>((t.out - x) * kChannels));
  }
}
void make(const uint8_t* const* rows, const uint16_t* weights, uint16_t start,
          const SparseTable<uint16_t>& t, uint8_t* result) {
  const Blend blend(weights, start);
  switch (t.channels) {
    case 1: return make_bytes<1>(rows, blend, t, result);
    case 3: return make_bytes<3>(rows, blend, t, result);
    default: return make_bytes<4>(rows, blend, t, result);
  }
}

// --- Float -------------------------------------------------------------------------------------

// Both weights of each pixel for each channel: 2 elements of one channel, otherwise 8.
int64_t prepared_size_float(int64_t out, int64_t channels) {
  return !is_possible(channels) ? 0 : padded(out) * (channels == 1 ? 2 : 8);
}
SparseTable<float> prepare_float(const int32_t* offset, const float* weights, int64_t out,
                                 int64_t channels, int64_t width, float* memory) {
  if (!is_possible(channels)) return {};
  const int64_t per_pixel = channels == 1 ? 2 : 8;
  std::fill(memory, memory + prepared_size_float(out, channels), 0.0f);
  for (int64_t x = 0; x < out; ++x) {
    float* to = memory + x * per_pixel;
    for (int k = 0; k < kTaps; ++k, to += channels)
      std::fill(to, to + channels, weights[x * kTaps + k]);
  }
  return {.out = out, .channels = channels, .offset = offset, .width = width, .weights = memory};
}

// Sums begin with 0, as in the vertical pass.
inline __m256 blend_floats(__m256 a, __m256 b, __m256 first, __m256 second) {
  const __m256 sum = _mm256_add_ps(_mm256_setzero_ps(), _mm256_mul_ps(a, first));
  return _mm256_add_ps(sum, _mm256_mul_ps(b, second));
}

template <int kChannels>
void make_floats(const float* const* rows, __m256 first, __m256 second, const SparseTable<float>& t,
                 float* result) {
  // The second tap under the first one.
  const __m256i next = kChannels == 3 ? _mm256_setr_epi32(3, 4, 5, 6, 7, 7, 7, 7)
                                      : _mm256_setr_epi32(4, 5, 6, 7, 7, 7, 7, 7);
  const float* weights = t.weights;
  float copies[2][8] = {};
  for (int64_t x = 0; x < t.out; ++x, result += kChannels, weights += 8) {
    const __m256 blended =
        blend_floats(_mm256_loadu_ps(pixel_of<kChannels>(rows[0], t, x, copies[0])),
                     _mm256_loadu_ps(pixel_of<kChannels>(rows[1], t, x, copies[1])), first, second);
    const __m256 products = _mm256_mul_ps(blended, _mm256_loadu_ps(weights));
    const __m256 sums = _mm256_add_ps(products, _mm256_permutevar8x32_ps(products, next));
    if (kChannels == 4 || x + 1 < t.out) {
      _mm_storeu_ps(result, _mm256_castps256_ps128(sums));
    } else {
      alignas(16) float last[4];
      _mm_store_ps(last, _mm256_castps256_ps128(sums));
      std::memcpy(result, last, kChannels * sizeof(float));
    }
  }
}

// The taps of 4 pixels of one channel.
inline __m256 gather_pairs(const float* row, const int32_t* at) {
  const auto two = [&](int a, int b) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + at[a]));
    return _mm_loadh_pi(_mm_castsi128_ps(low), reinterpret_cast<const __m64*>(row + at[b]));
  };
  return _mm256_insertf128_ps(_mm256_castps128_ps256(two(0, 1)), two(2, 3), 1);
}
void make_floats_of_1(const float* const* rows, __m256 first, __m256 second,
                      const SparseTable<float>& t, float* result) {
  const float* weights = t.weights;
  for (int64_t x = 0; x < t.out; x += 4, weights += 8) {
    const int32_t* at = t.offset + x;
    const __m256 blended =
        blend_floats(gather_pairs(rows[0], at), gather_pairs(rows[1], at), first, second);
    const __m256 products = _mm256_mul_ps(blended, _mm256_loadu_ps(weights));
    const __m256 sums = _mm256_add_ps(products, _mm256_movehdup_ps(products));
    const __m128 made =
        _mm_shuffle_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1), 0x88);
    alignas(16) float four[4];
    _mm_store_ps(four, made);
    if (x + 4 <= t.out) std::memcpy(result + x, four, sizeof(four));
    else std::memcpy(result + x, four, static_cast<size_t>(t.out - x) * sizeof(float));
  }
}

void make_float(const float* const* rows, const float* weights, float, const SparseTable<float>& t,
                float* result) {
  const __m256 first = _mm256_set1_ps(weights[0]), second = _mm256_set1_ps(weights[1]);
  switch (t.channels) {
    case 1: return make_floats_of_1(rows, first, second, t, result);
    case 3: return make_floats<3>(rows, first, second, t, result);
    default: return make_floats<4>(rows, first, second, t, result);
  }
}
#else
int64_t prepared_size(int64_t, int64_t) { return 0; }
int64_t prepared_size_float(int64_t, int64_t) { return 0; }
SparseTable<uint16_t> prepare(const int32_t*, const uint16_t*, int64_t, int64_t, int64_t,
                              uint16_t*) {
  return {};
}
SparseTable<float> prepare_float(const int32_t*, const float*, int64_t, int64_t, int64_t, float*) {
  return {};
}
void make(const uint8_t* const*, const uint16_t*, uint16_t, const SparseTable<uint16_t>&,
          uint8_t*) {}
void make_float(const float* const*, const float*, float, const SparseTable<float>&, float*) {}
#endif

}  // namespace

extern const SparseKernels<uint8_t, uint16_t> kSparseBytes;
const SparseKernels<uint8_t, uint16_t> kSparseBytes = {
    .prepared_size = prepared_size, .prepare = prepare, .make = make};
extern const SparseKernels<float, float> kSparseFloats;
const SparseKernels<float, float> kSparseFloats = {
    .prepared_size = prepared_size_float, .prepare = prepare_float, .make = make_float};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
template <>
const SparseKernels<uint8_t, uint16_t>& sparse_kernels() {
  return *TORCHDALI_ISA_PICK(kSparseBytes);
}
template <>
const SparseKernels<float, float>& sparse_kernels() {
  return *TORCHDALI_ISA_PICK(kSparseFloats);
}
#endif

}  // namespace torchdali::kernels
