// SPDX-License-Identifier: Apache-2.0
// Histogram equalization in the order of operations of OpenCV's equalizeHist, so that results equal
// DALI's; for the host and the GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace torchdali::kernels {

// The darkest value with a count above 0; 255 if there is none.
template <class Counts>
constexpr int darkest_value(Counts&& count_of) {
  int first = 0;
  while (first < 255 && count_of(first) == 0) ++first;
  return first;
}
// The factor of cumulative counts. `darkest`: the count of the darkest value, less than `pixels`.
constexpr float equalize_scale(int64_t pixels, uint32_t darkest) {
  return 255.0f / static_cast<float>(pixels - darkest);
}
// The result for a value. `sum`: the count of all values after the darkest one, up to this one.
constexpr uint8_t equalized(int64_t sum, float scale) {
  return static_cast<uint8_t>(std::min(std::nearbyint(static_cast<float>(sum) * scale), 255.0f));
}
// One entry of the table that spreads values over [0, 255]: the darkest becomes 0; a channel of one
// value stays as it is.
template <class Counts>
constexpr uint8_t equalized_entry(int value, int64_t pixels, Counts&& count_of) {
  const int first = darkest_value(count_of);
  const uint32_t darkest = count_of(first);
  if (darkest == pixels) return static_cast<uint8_t>(value == first ? first : 0);
  if (value <= first) return 0;
  int64_t sum = 0;
  for (int v = first + 1; v <= value; ++v) sum += count_of(v);
  return equalized(sum, equalize_scale(pixels, darkest));
}

}  // namespace torchdali::kernels
