// SPDX-License-Identifier: Apache-2.0
// The functions of random_block.h on one word, for the loops of the CPU and for the GPU.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/random.h"
#include "kernels/convert.h"
#include "kernels/noise/random_block.h"

namespace torchdali::kernels {

// Natural logarithm of a positive normal number. Source of the coefficients, and of those below:
// S. Moshier, Cephes, logf, sinf and cosf; relative errors below 2^-22.
[[gnu::always_inline]] constexpr float log_of(float x) {
  constexpr int32_t kSqrtHalf = 0x3F3504F3;
  const int32_t bits = std::bit_cast<int32_t>(x);
  const int32_t exponent = (bits - kSqrtHalf) >> 23;
  // In [sqrt(1/2), sqrt(2)), less 1.
  const float f = std::bit_cast<float>(bits - exponent * (1 << 23)) - 1.0f;
  const float e = static_cast<float>(exponent), square = f * f;
  float y = 7.0376836292e-2f;
  y = y * f - 1.1514610310e-1f;
  y = y * f + 1.1676998740e-1f;
  y = y * f - 1.2420140846e-1f;
  y = y * f + 1.4249322787e-1f;
  y = y * f - 1.6668057665e-1f;
  y = y * f + 2.0000714765e-1f;
  y = y * f - 2.4999993993e-1f;
  y = y * f + 3.3333331174e-1f;
  y = y * f * square + e * -2.12194440e-4f - 0.5f * square;
  return f + y + e * 0.693359375f;
}

// Two draws from a standard normal distribution, from two words (Box and Muller, 1958); at most 6.6
// from 0.
[[gnu::always_inline]] constexpr void normal_pair(uint32_t radius_word, uint32_t angle_word,
                                                  float& first, float& second) {
  // In [2^-31, 1]: the logarithm is finite.
  const float u = (static_cast<float>(static_cast<int32_t>(radius_word >> 1)) + 1.0f) * 0x1p-31f;
  const float radius = std::sqrt(std::abs(-2.0f * log_of(u)));
  // The angle is 2 pi * word / 2^32: the nearest quarter turn, and the rest.
  const uint32_t quarter = (angle_word + (1u << 29)) >> 30;
  const int32_t rest = static_cast<int32_t>(angle_word - (quarter << 30));
  const float x = static_cast<float>(rest) * (3.14159265358979f * 0x1p-31f), z = x * x;
  const float sine =
      ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
  const float cosine =
      ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z -
      0.5f * z + 1.0f;
  const uint32_t odd = 0u - (quarter & 1);
  const uint32_t s = std::bit_cast<uint32_t>(sine), c = std::bit_cast<uint32_t>(cosine);
  const uint32_t cosine_sign = ((quarter + 1) & 2) << 30, sine_sign = (quarter & 2) << 30;
  const uint32_t cos_bits = ((c & ~odd) | (s & odd)) ^ cosine_sign;
  const uint32_t sin_bits = ((s & ~odd) | (c & odd)) ^ sine_sign;
  first = radius * std::bit_cast<float>(cos_bits);
  second = radius * std::bit_cast<float>(sin_bits);
}

// Element `index` of random_normals(), whose blocks follow each other.
inline float normal_at(uint64_t seed, uint64_t sample, uint64_t index) {
  constexpr uint64_t kCounters = kRandomBlock / 4;
  const uint64_t counter = index / kRandomBlock * kCounters + index % kCounters;
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto words = philox4x32({low(sample), low(sample >> 32), low(counter), low(counter >> 32)},
                                {low(seed), low(seed >> 32)});
  const uint64_t word = index % kRandomBlock / kCounters;
  float pair[2];
  normal_pair(words[word / 2 * 2], words[word / 2 * 2 + 1], pair[0], pair[1]);
  return pair[word % 2];
}

// 1 with probability `first`, 2 with probability `second`, else 0. Probabilities are exact in 24
// bits.
[[gnu::always_inline]] constexpr uint8_t choice_of(uint32_t word, float first, float either) {
  const float u = static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f;
  const int is_first = u < first, is_either = u < either;
  return static_cast<uint8_t>(2 * is_either - is_first);
}

// The type in which noise is added: float is not precise enough for wide integers.
template <class T>
using WideForNoise =
    std::conditional_t<(sizeof(T) >= 4 && !std::is_same_v<T, float>), double, float>;
// x + (mean + stddev * noise), rounded and saturated where T is an integer.
template <class T>
[[gnu::always_inline]] constexpr T with_noise(T x, float noise, float mean, float stddev) {
  using Wide = WideForNoise<T>;
  const float value = mean + stddev * noise;
  if constexpr (std::is_same_v<T, uint8_t>) return round_to_byte(static_cast<float>(x) + value);
  else return convert<T>(static_cast<Wide>(x) + Wide(value));
}

}  // namespace torchdali::kernels
