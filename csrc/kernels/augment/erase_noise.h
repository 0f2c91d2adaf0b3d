// SPDX-License-Identifier: Apache-2.0
// Values that fn.random_erase fills a rectangle with.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/random.h"
#include "kernels/noise/random_scalar.h"

namespace torchdali::kernels {

struct Rectangle {
  int64_t y = 0, x = 0, height = 0, width = 0;
  constexpr bool contains(int64_t row, int64_t column) const {
    return row >= y && row < y + height && column >= x && column < x + width;
  }
};

// Four draws from the standard normal distribution.
constexpr void normal_block(float (&to)[4], uint64_t seed, uint64_t sample, uint64_t block) {
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto words = philox4x32({low(sample), low(sample >> 32), low(block), low(block >> 32)},
                                {low(seed), low(seed >> 32)});
  normal_pair(words[0], words[1], to[0], to[1]);
  normal_pair(words[2], words[3], to[2], to[3]);
}

// To bytes as torch converts: without the fraction, modulo 256.
template <class T>
constexpr T erased_value(float x) {
  if constexpr (sizeof(T) == 1)
    return static_cast<T>(static_cast<int64_t>(std::clamp(x, -1e9f, 1e9f)));
  else return x;
}

}  // namespace torchdali::kernels
