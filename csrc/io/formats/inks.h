// SPDX-License-Identifier: Apache-2.0
// CMYK to RGB.
#pragma once

#include <cstdint>
#include <limits>

namespace torchdali::io {

// Turns pixels of ink coverage, 0 for none, into RGB: the light that each ink leaves is multiplied
// by the light that black leaves, rounded down, as in DALI. T: uint8_t or uint16_t.
template <class T>
void mix_inks(const T* inks, int64_t count, T* rgb) {
  constexpr uint32_t kFull = std::numeric_limits<T>::max();
  for (int64_t i = 0; i < count; ++i, inks += 4, rgb += 3)
    for (int c = 0; c < 3; ++c)
      rgb[c] = static_cast<T>((kFull - inks[c]) * (kFull - inks[3]) / kFull);
}

}  // namespace torchdali::io
