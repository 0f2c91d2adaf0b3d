// SPDX-License-Identifier: Apache-2.0
// Equalisation of a histogram, in OpenCV's (equalizeHist) order of operations, so that results
// equal DALI's; for the host and the GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace torchdali::kernels {

// The darkest value that occurs, given how often each does; 255 where none does.
template <class Counts>
constexpr int darkest_value(Counts&& count_of) {
  int first = 0;
  while (first < 255 && count_of(first) == 0) ++first;
  return first;
}
// What sums of counts are multiplied by; `darkest`: how often the darkest value occurs, which is
// not all of the pixels.
constexpr float equalize_scale(int64_t pixels, uint32_t darkest) {
  return 255.0f / static_cast<float>(pixels - darkest);
}
// What becomes of a value; `sum`: how often those behind the darkest occur, up to this one.
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
