// SPDX-License-Identifier: Apache-2.0
// Conversion of numbers between byte orders.
#pragma once

#include <cstdint>

namespace torchdali::io {

// Reverses the bytes of `count` elements of 1, 2, 4 or 8 bytes.
inline void swap_bytes(void* elements, int64_t itemsize, int64_t count) {
  const auto each = [count](auto* x, auto swap) {
    for (int64_t i = 0; i < count; ++i) x[i] = swap(x[i]);
  };
  switch (itemsize) {
    case 2:
      return each(static_cast<uint16_t*>(elements),
                  [](uint16_t x) { return __builtin_bswap16(x); });
    case 4:
      return each(static_cast<uint32_t*>(elements),
                  [](uint32_t x) { return __builtin_bswap32(x); });
    case 8:
      return each(static_cast<uint64_t*>(elements),
                  [](uint64_t x) { return __builtin_bswap64(x); });
    default: return;
  }
}

}  // namespace torchdali::io
