// SPDX-License-Identifier: Apache-2.0
// The steps of clahe.h, one table or one pixel at a time, for the host and the GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/color/clahe.h"

namespace torchdali::kernels::clahe_scalar {

// Luma of ITU-R BT.601-7, 2.5.1 (0.299, 0.587, 0.114), in 32768ths.
inline constexpr int16_t kLuma[3] = {9798, 19235, 3735};
constexpr uint8_t luma(const uint8_t* pixel) {
  int sum = 1 << 14;
  for (int c = 0; c < 3; ++c) sum += pixel[c] * kLuma[c];
  return static_cast<uint8_t>(sum >> 15);
}
// Adds the change of luma to a channel, so that color differences stay the same.
constexpr uint8_t gained(uint8_t x, int gain) {
  return static_cast<uint8_t>(std::clamp(x + gain, 0, 255));
}

// Rounds to the nearest, halves to even, for 0 <= x < 256: the sum has no fraction bits.
constexpr uint8_t round_to_even(float x) {
  constexpr float kNoFraction = 0x1p23f;
  return static_cast<uint8_t>(std::min((x + kNoFraction) - kNoFraction, 255.0f));
}

// Index of element `i` of `n` elements that continue mirrored at the last one.
constexpr int64_t reflect(int64_t i, int64_t n) {
  if (i < n) return i;
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), at = i % period;
  return at < n ? at : period - at;
}

// Along one axis: the position of a pixel between the centers of tiles of length `extent`.
constexpr ClaheColumn place(int64_t i, int64_t tiles, int64_t extent) {
  const float at = static_cast<float>(i) * (1.0f / static_cast<float>(extent)) - 0.5f;
  const float low = std::floor(at);
  const auto first = static_cast<int64_t>(low);
  return {std::max<int64_t>(first, 0), std::min(first + 1, tiles - 1), at - low};
}

constexpr int bin_of(uint8_t value, int bins) { return value * bins / 256; }

// Clips the counts and distributes the excess over all bins.
template <class Count>
constexpr void clip(Count* counts, int bins, float clip_limit, int64_t area) {
  const double wanted = static_cast<double>(clip_limit) * static_cast<double>(area) / bins;
  const auto limit =
      std::max<int64_t>(static_cast<int64_t>(std::min(wanted, static_cast<double>(area))), 1);
  int64_t excess = 0;
  for (int i = 0; i < bins; ++i) {
    const auto count = static_cast<int64_t>(counts[i]);
    excess += std::max<int64_t>(count - limit, 0);
    counts[i] = static_cast<Count>(std::min(count, limit));
  }
  for (int i = 0; i < bins; ++i) counts[i] += static_cast<Count>(excess / bins);
  const int64_t rest = excess % bins;
  if (rest == 0) return;
  const int64_t step = std::max<int64_t>(bins / rest, 1);
  for (int64_t i = 0, left = rest; i < bins && left > 0; i += step, --left) ++counts[i];
}

// Computes the table of a tile from its histogram, which it changes.
template <class Count>
constexpr void make_table(uint8_t* table, Count* counts, const ClaheTiles& tiles) {
  const int64_t area = tiles.rows * tiles.columns;
  const int bins = tiles.options.bins;
  if (tiles.options.clip_limit > 0) clip(counts, bins, tiles.options.clip_limit, area);
  const float scale = 255.0f / static_cast<float>(area);
  int64_t sum = 0;
  for (int i = 0; i < bins; ++i) {
    sum += static_cast<int64_t>(counts[i]);
    table[i] = round_to_even(static_cast<float>(sum) * scale);
  }
}

// Interpolates between the entries of the four tiles around a pixel.
constexpr uint8_t blend(uint8_t above_left, uint8_t above_right, uint8_t below_left,
                        uint8_t below_right, float row_weight, float column_weight) {
  const float b = column_weight, a = 1.0f - b;
  const float upper = static_cast<float>(above_left) * a + static_cast<float>(above_right) * b;
  const float lower = static_cast<float>(below_left) * a + static_cast<float>(below_right) * b;
  return round_to_even(upper * (1.0f - row_weight) + lower * row_weight);
}

}  // namespace torchdali::kernels::clahe_scalar
