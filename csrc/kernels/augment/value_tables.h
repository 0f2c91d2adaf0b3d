// SPDX-License-Identifier: Apache-2.0
// How operations that depend on all pixels change values: tables of bytes, made of histograms, and
// ranges of floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/augment/augment_image.h"
#include "kernels/color/byte_table.h"

namespace torchdali::kernels {

constexpr uint8_t clamp_byte(double x) { return static_cast<uint8_t>(std::clamp(x, 0.0, 255.0)); }

// -- autocontrast: spreads values over 0 to 255

struct ByteRange {
  int low = 0, high = 255;
};
template <class Counts>
constexpr ByteRange range_of(Counts&& count_of) {
  ByteRange range;
  while (range.low < 255 && count_of(range.low) == 0) ++range.low;
  while (range.high > 0 && count_of(range.high) == 0) --range.high;
  return range;
}
constexpr uint8_t spread_value(int v, ByteRange range, ImageArithmetic arithmetic) {
  const bool uniform = range.high <= range.low;
  // Pillow multiplies in double; torch divides floats.
  if (arithmetic == ImageArithmetic::kPillow) {
    const double scale = uniform ? 1.0 : 255.0 / (range.high - range.low);
    return clamp_byte(v * scale + (uniform ? 0 : -range.low * scale));
  }
  const float by =
      uniform ? 1.0f : static_cast<float>(range.high - range.low) * static_cast<float>(1 / 255.0);
  return clamp_byte(static_cast<float>(uniform ? v : v - range.low) / by);
}
inline void spread_values(ByteTable& table, const uint32_t (&counts)[256],
                          ImageArithmetic arithmetic) {
  const ByteRange range = range_of([&](int v) { return counts[v]; });
  for (int v = 0; v < 256; ++v) table[v] = spread_value(v, range, arithmetic);
}
// The same of floats, to 0 to 1.
struct FloatRange {
  float from = 0, extent = 1;
};
constexpr FloatRange float_range(float low, float high) {
  return high == low ? FloatRange{} : FloatRange{low, high - low};
}
constexpr float spread_float(float x, FloatRange range) {
  return std::clamp((x - range.from) / range.extent, 0.0f, 1.0f);
}

// -- equalize

// Pixels of a result's value; 0: values stay as they are.
template <class Counts>
constexpr int64_t equalize_step(Counts&& count_of) {
  int last = 255;
  while (last > 0 && count_of(last) == 0) --last;
  int64_t total = 0;  // without those of the last value
  for (int v = 0; v < last; ++v) total += count_of(v);
  return total / 255;
}
// `below`: the number of pixels with lower values.
constexpr uint8_t equalized_value(int v, int64_t below, int64_t step) {
  return static_cast<uint8_t>(step == 0 ? v : std::min<int64_t>((step / 2 + below) / step, 255));
}
inline void equalize_values(ByteTable& table, const uint32_t (&counts)[256]) {
  const int64_t step = equalize_step([&](int v) { return counts[v]; });
  int64_t below = 0;
  for (int v = 0; v < 256; ++v) {
    table[v] = equalized_value(v, below, step);
    below += counts[v];
  }
}

// -- contrast

// The value that is kept, of an image whose levels of gray have this mean.
constexpr float contrast_center(double mean, ImageArithmetic arithmetic) {
  return static_cast<float>(arithmetic == ImageArithmetic::kPillow ? std::floor(mean + 0.5) : mean);
}

}  // namespace torchdali::kernels
