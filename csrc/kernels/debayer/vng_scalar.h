// SPDX-License-Identifier: Apache-2.0
// One pixel of an image from a sensor with a Bayer pattern, from the directions in which the image
// varies least ("variable number of gradients"). Source: Chang, Cheung, Pang, "Color filter array
// recovery using a threshold-based variable number of gradients", 1999. Where OpenCV's cvtColor
// differs from it, the arithmetic is OpenCV's, found by comparing results.
#pragma once

#include <cstdint>

#include "kernels/debayer/debayer_scalar.h"

namespace torchdali::kernels {

// Smaller images are interpolated linearly.
inline constexpr int64_t kVngSmallest = 8;

// The row or column inside of the image that stands for one beyond it. It has the same colors.
[[gnu::always_inline]] constexpr int64_t vng_inside(int64_t at, int64_t extent) {
  return at < 0 ? -at : at >= extent ? 2 * (extent - 1) - at : at;
}

// Pixels around one have `at(y, x)`: the value at an offset of at most 2. These functions take
// offsets that are turned by `turns` quarters.
template <class Pixels>
[[gnu::always_inline]] constexpr int32_t vng_turned(const Pixels& p, int turns, int y, int x) {
  return turns == 0   ? p.at(y, x)
         : turns == 1 ? p.at(x, -y)
         : turns == 2 ? p.at(-y, -x)
                      : p.at(-x, y);
}
template <class Pixels>
[[gnu::always_inline]] constexpr int32_t vng_distance(const Pixels& p, int turns, int y0, int x0,
                                                      int y1, int x1) {
  return debayer_distance(vng_turned(p, turns, y0, x0), vng_turned(p, turns, y1, x1));
}
template <class Pixels>
[[gnu::always_inline]] constexpr int32_t vng_sum(const Pixels& p, int turns, int y0, int x0, int y1,
                                                 int x1) {
  return vng_turned(p, turns, y0, x0) + vng_turned(p, turns, y1, x1);
}

// How much the image varies upwards, and up and to the right: at most 8 * 255. `kGreen`: the sensor
// has green here.
template <class Pixels>
[[gnu::always_inline]] constexpr int32_t vng_up(const Pixels& p, int turns) {
  return 2 * (vng_distance(p, turns, -1, 0, 1, 0) + vng_distance(p, turns, -2, 0, 0, 0)) +
         vng_distance(p, turns, -1, -1, 1, -1) + vng_distance(p, turns, -1, 1, 1, 1) +
         vng_distance(p, turns, -2, -1, 0, -1) + vng_distance(p, turns, -2, 1, 0, 1);
}
template <bool kGreen, class Pixels>
[[gnu::always_inline]] constexpr int32_t vng_up_right(const Pixels& p, int turns) {
  const int32_t straight =
      2 * (vng_distance(p, turns, -1, 1, 1, -1) + vng_distance(p, turns, -2, 2, 0, 0));
  if constexpr (kGreen)
    return straight +
           2 * (vng_distance(p, turns, -2, 1, 0, -1) + vng_distance(p, turns, -1, 2, 1, 0));
  return straight + vng_distance(p, turns, -1, 0, 0, -1) + vng_distance(p, turns, 0, 1, 1, 0) +
         vng_distance(p, turns, -2, 1, -1, 0) + vng_distance(p, turns, -1, 2, 0, 1);
}

// Pixels around number `i` of the middle one of five rows.
struct VngRows {
  const uint8_t* rows[5];
  int64_t i;
  [[gnu::always_inline]] constexpr int32_t at(int y, int x) const { return rows[2 + y][i + x]; }
};

// The color that the sensor has in the row of the pixel beside green, green, and the other color.
struct VngColors {
  int32_t own, green, other;
};

// Twice the mean colors in the two directions.
template <bool kGreen, class Pixels>
[[gnu::always_inline]] constexpr VngColors vng_colors_up(const Pixels& p, int turns) {
  const int32_t far = vng_sum(p, turns, -2, 0, 0, 0), near = 2 * vng_turned(p, turns, -1, 0);
  if constexpr (!kGreen) return {far, near, vng_sum(p, turns, -1, -1, -1, 1)};
  const int32_t beside = vng_sum(p, turns, -2, -1, -2, 1);
  if (turns % 2 == 1) return {near, far, beside};
  return {beside, far, near};
}
template <bool kGreen, class Pixels>
[[gnu::always_inline]] constexpr VngColors vng_colors_up_right(const Pixels& p, int turns) {
  const int32_t corner = 2 * vng_turned(p, turns, -1, 1);
  const int32_t inner = vng_sum(p, turns, -2, 1, 0, 1), outer = vng_sum(p, turns, -1, 0, -1, 2);
  if constexpr (!kGreen) return {vng_sum(p, turns, -2, 2, 0, 0), (inner + outer) >> 1, corner};
  if (turns % 2 == 1) return {outer, corner, inner};
  return {inner, corner, outer};
}

// Directions with less variation are used.
[[gnu::always_inline]] constexpr int32_t vng_threshold(int32_t least, int32_t most) {
  return least + (most / 2 > 1 ? most / 2 : 1);
}

// Rounds to the nearest integer, halves to the even one. |x| is less than 2^22.
[[gnu::always_inline]] constexpr int32_t vng_rounded(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23, where floats are integers
  return static_cast<int32_t>((x + kShift) - kShift);
}
// A color of a pixel, from its value, and the difference of twice the sums of that color and of the
// pixel's own in the directions that are used.
[[gnu::always_inline]] constexpr int32_t vng_color(int32_t value, int32_t difference,
                                                   int32_t directions) {
  const float scale = 0.5f / static_cast<float>(directions);
  const int32_t x = value + vng_rounded(static_cast<float>(difference) * scale);
  return x < 0 ? 0 : x > 255 ? 255 : x;
}

template <bool kGreen, class Pixels>
constexpr VngColors vng_pixel(const Pixels& p) {
  int32_t variation[8] = {}, least = 8 * 255, most = 0;
  for (int turns = 0; turns < 4; ++turns) {
    variation[2 * turns] = vng_up(p, turns);
    variation[2 * turns + 1] = vng_up_right<kGreen>(p, turns);
  }
  for (const int32_t v : variation) {
    least = v < least ? v : least;
    most = v > most ? v : most;
  }
  const int32_t threshold = vng_threshold(least, most);
  VngColors sum{};
  int32_t directions = 0;
  for (int i = 0; i < 8; ++i) {
    if (variation[i] >= threshold) continue;
    const VngColors colors =
        i % 2 == 0 ? vng_colors_up<kGreen>(p, i / 2) : vng_colors_up_right<kGreen>(p, i / 2);
    sum.own += colors.own;
    sum.green += colors.green;
    sum.other += colors.other;
    ++directions;
  }
  const int32_t value = p.at(0, 0), base = kGreen ? sum.green : sum.own;
  return {vng_color(value, sum.own - base, directions),
          vng_color(value, sum.green - base, directions),
          vng_color(value, sum.other - base, directions)};
}

}  // namespace torchdali::kernels
