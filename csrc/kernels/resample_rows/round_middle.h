// SPDX-License-Identifier: Apache-2.0
// From middle elements of resampling (resample_rows.h) to elements of the result.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace torchdali::kernels {

// Rounds to nearest, halves to even, and saturates.
template <class Out, class Mid>
inline Out round_middle(Mid mid) {
  if constexpr (std::is_same_v<Out, Mid>) {
    return mid;
  } else if constexpr (std::is_same_v<Mid, uint16_t>) {
    return static_cast<Out>((mid + 127 + (mid >> 8 & 1)) >> 8);
  } else {
    // 1.5 * 2^23 leaves no fraction bits: the addition rounds, and the low bits of the sum are the
    // integer. Middle values of integers stay far below 2^22. Bounded as integers, because GCC does
    // not vectorize comparisons of floats that may be NaN before AVX-512 (6 times slower overall).
    constexpr float kRound = 0x1.8p23f;
    const int32_t whole = std::bit_cast<int32_t>(mid + kRound) - std::bit_cast<int32_t>(kRound);
    constexpr int32_t kLow = std::numeric_limits<Out>::min(),
                      kHigh = std::numeric_limits<Out>::max();
    return static_cast<Out>(std::clamp(whole, kLow, kHigh));
  }
}

}  // namespace torchdali::kernels
