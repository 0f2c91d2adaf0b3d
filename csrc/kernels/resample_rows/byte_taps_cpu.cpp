// SPDX-License-Identifier: Apache-2.0
// Taps from bytes (AVX2 and later); compiled once per instruction set, with results that are
// bit-identical to those of resample_float_cpu.cpp. 480 x 640 -> 224 x 224, 3 channels, cubic, with
// AVX2 on a Xeon: 263 us by rows of floats, 171 us by bytes.
#include "kernels/resample_rows/byte_taps.h"

#include <algorithm>

#define TORCHDALI_ISA_FILE "kernels/resample_rows/byte_taps_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

#if TORCHDALI_ISA_LEVEL >= 1
// 16 bytes hold all taps of a pixel. Two taps are faster as floats.
constexpr int kMinTaps = 3, kMaxTaps = 4, kGroup = 4, kSlots = 4;
// Adding to it changes nothing, not even the sign of a zero.
constexpr float kNothing = -0.0f;

bool is_possible(int64_t channels) { return channels == 3 || channels == 4; }
int64_t prepared_size(int64_t out, int64_t channels) {
  const int64_t groups = (out + kGroup - 1) / kGroup;
  return is_possible(channels) ? groups * kMaxTaps * kGroup * kSlots : 0;
}
ByteTapTable prepare(const int32_t* offset, const float* weights, int64_t out, int taps,
                     int64_t channels, float* memory) {
  if (!is_possible(channels) || taps < kMinTaps || taps > kMaxTaps) return {};
  float* to = memory;
  for (int64_t first = 0; first < out; first += kGroup)
    for (int k = 0; k < taps; ++k)
      for (int64_t x = first; x < first + kGroup; ++x, to += kSlots)
        std::fill(to, to + kSlots, x < out ? weights[x * taps + k] : 0.0f);
  return {.out = out, .taps = taps, .channels = channels, .offset = offset, .weights = memory};
}

inline __m256i two_pixels(const uint8_t* low, const uint8_t* high) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}
// `order`: the elements of a tap, as integers of 32 bits.
inline __m256 add_tap(__m256 sum, __m256i pixels, __m256i order, const float* weights) {
  const __m256 tap = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, order));
  return _mm256_add_ps(sum, _mm256_mul_ps(tap, _mm256_loadu_ps(weights)));
}

template <int kChannels, int kTaps>
void sum_taps(const uint8_t* row, const ByteTapTable& t, float* result) {
  constexpr int kZero = ~0xff;  // in the upper bytes
  const float* weights = t.weights;
  const int64_t out = t.out;
  __m256i order[kTaps];
  for (int k = 0; k < kTaps; ++k) {
    const int at = k * kChannels;
    order[k] = _mm256_broadcastsi128_si256(_mm_or_si128(
        _mm_setr_epi32(at, at + 1, at + 2, kChannels == 4 ? at + 3 : 0), _mm_set1_epi32(kZero)));
  }
  for (int64_t x = 0; x < out; x += kGroup, result += kGroup * kChannels) {
    const int32_t* at = t.offset + x;
    const __m256i first = two_pixels(row + at[0], row + at[1]),
                  second = two_pixels(row + at[2], row + at[3]);
    __m256 ab = _mm256_set1_ps(kNothing), cd = ab;
    for (int k = 0; k < kTaps; ++k, weights += kGroup * kSlots) {
      ab = add_tap(ab, first, order[k], weights);
      cd = add_tap(cd, second, order[k], weights + 2 * kSlots);
    }
    // Each store overwrites the start of the next pixel, which is written afterwards.
    _mm_storeu_ps(result, _mm256_castps256_ps128(ab));
    _mm_storeu_ps(result + kChannels, _mm256_extractf128_ps(ab, 1));
    _mm_storeu_ps(result + 2 * kChannels, _mm256_castps256_ps128(cd));
    _mm_storeu_ps(result + 3 * kChannels, _mm256_extractf128_ps(cd, 1));
  }
}
void to_mid(const uint8_t* row, const ByteTapTable& t, float* result) {
  if (t.channels == 3)
    return t.taps == 3 ? sum_taps<3, 3>(row, t, result) : sum_taps<3, 4>(row, t, result);
  return t.taps == 3 ? sum_taps<4, 3>(row, t, result) : sum_taps<4, 4>(row, t, result);
}
#else
int64_t prepared_size(int64_t, int64_t) { return 0; }
ByteTapTable prepare(const int32_t*, const float*, int64_t, int, int64_t, float*) { return {}; }
void to_mid(const uint8_t*, const ByteTapTable&, float*) {}
#endif

}  // namespace

extern const ByteTapKernels kByteTapKernels;
const ByteTapKernels kByteTapKernels = {
    .prepared_size = prepared_size, .prepare = prepare, .to_mid = to_mid};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
const ByteTapKernels& byte_tap_kernels() { return *TORCHDALI_ISA_PICK(kByteTapKernels); }
#endif

}  // namespace torchdali::kernels
