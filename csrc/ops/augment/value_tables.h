// SPDX-License-Identifier: Apache-2.0
// Tables of bytes for operations that need the histogram of a channel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/augment/augment_image.h"
#include "kernels/color/byte_table.h"

namespace torchdali {

inline uint8_t clamp_byte(double x) { return static_cast<uint8_t>(std::clamp(x, 0.0, 255.0)); }

// Spreads the values of a channel over 0 to 255.
inline void spread_values(kernels::ByteTable& table, const uint32_t (&counts)[256],
                          kernels::ImageArithmetic arithmetic) {
  int low = 0, high = 255;
  while (low < 255 && counts[low] == 0) ++low;
  while (high > 0 && counts[high] == 0) --high;
  const bool uniform = high <= low;
  // Pillow multiplies in double; torch divides floats.
  const double scale = uniform ? 1.0 : 255.0 / (high - low), offset = uniform ? 0 : -low * scale;
  const float range =
      uniform ? 1.0f : static_cast<float>(high - low) * static_cast<float>(1 / 255.0);
  for (int v = 0; v < 256; ++v)
    table[v] = arithmetic == kernels::ImageArithmetic::kPillow
                   ? clamp_byte(v * scale + offset)
                   : clamp_byte(static_cast<float>(uniform ? v : v - low) / range);
}
inline void equalize_values(kernels::ByteTable& table, const uint32_t (&counts)[256]) {
  int last = 255;
  while (last > 0 && counts[last] == 0) --last;
  int64_t total = 0;
  for (const uint32_t count : counts) total += count;
  const int64_t step = (total - counts[last]) / 255;
  int64_t sum = step / 2;
  for (int v = 0; v < 256; ++v) {
    table[v] = static_cast<uint8_t>(step == 0 ? v : std::min<int64_t>(sum / step, 255));
    sum += counts[v];
  }
}

}  // namespace torchdali
