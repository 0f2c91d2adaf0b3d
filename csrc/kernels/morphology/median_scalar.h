// SPDX-License-Identifier: Apache-2.0
// Integers in the order of the elements of a median filter, and back; for the host and the GPU.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/dtype.h"

namespace torchdali::kernels {

// NaN comes first or last, by its sign.
template <class T>
constexpr uint32_t median_key(T x) {
  constexpr uint32_t kSign = uint32_t{1} << (8 * sizeof(T) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    const auto bits = std::bit_cast<uint32_t>(x);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::make_unsigned_t<T>>(x) ^ kSign;
  } else {
    return x;
  }
}
template <class T>
constexpr T median_of_key(uint32_t key) {
  constexpr uint32_t kSign = uint32_t{1} << (8 * sizeof(T) - 1);
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>((key & kSign) != 0 ? key ^ kSign : ~key);
  else if constexpr (std::is_signed_v<T>) return static_cast<T>(key ^ kSign);
  else return static_cast<T>(key);
}

}  // namespace torchdali::kernels
