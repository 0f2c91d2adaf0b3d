// SPDX-License-Identifier: Apache-2.0
// One pixel of an image from a sensor with a Bayer pattern. The arithmetic is that of OpenCV's
// cvtColor; found by comparing results.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

enum class DebayerAlgorithm : int8_t { kBilinear, kEdgeAware, kGray, kVng };

constexpr int32_t debayer_mean(int32_t a, int32_t b) { return (a + b + 1) >> 1; }
constexpr int32_t debayer_mean(int32_t a, int32_t b, int32_t c, int32_t d) {
  return (a + b + c + d + 2) >> 2;
}
[[gnu::always_inline]] constexpr int32_t debayer_distance(int32_t a, int32_t b) {
  return a < b ? b - a : a - b;
}

// Green where the sensor has another color.
constexpr int32_t debayer_green(int32_t left, int32_t right, int32_t up, int32_t down,
                                bool edge_aware) {
  if (!edge_aware) return debayer_mean(left, right, up, down);
  return debayer_distance(left, right) > debayer_distance(up, down) ? debayer_mean(up, down)
                                                                    : debayer_mean(left, right);
}

// 16384 times the weights of ITU-R BT.601.
inline constexpr uint32_t kDebayerRed = 4899, kDebayerGreen = 9617, kDebayerBlue = 1868;

// Gray from four times the weighted sum of colors.
constexpr uint32_t debayer_gray(uint32_t sum) { return (sum + (1u << 15)) >> 16; }

// Where the sensor has `own`, and green beside and above it; `own` and `other` are the weights of
// these colors.
constexpr uint32_t debayer_gray_at_color(uint32_t center, uint32_t cross, uint32_t diagonal,
                                         uint32_t own, uint32_t other) {
  return debayer_gray(4 * center * own + cross * kDebayerGreen + diagonal * other);
}
// Where the sensor has green, `own` beside it and `other` above it.
constexpr uint32_t debayer_gray_at_green(uint32_t center, uint32_t beside, uint32_t above,
                                         uint32_t own, uint32_t other) {
  return debayer_gray(4 * center * kDebayerGreen + 2 * beside * own + 2 * above * other);
}

}  // namespace torchdali::kernels
