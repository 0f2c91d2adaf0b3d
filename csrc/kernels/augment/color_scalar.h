// SPDX-License-Identifier: Apache-2.0
// The operations of color_adjust.h, one pixel at a time, for the loops of the CPU and for the GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/augment/augment_image.h"

namespace torchdali::kernels {

// a * b + c, rounded once, as torch's vectorized loops compute it. kFma: there is an instruction.
template <bool kFma>
[[gnu::always_inline]] constexpr float fused(float a, float b, float c) {
  if constexpr (kFma) return std::fma(a, b, c);
  else return static_cast<float>(static_cast<double>(a) * b + c);
}

template <class T>
[[gnu::always_inline]] constexpr T store_clamped(float x) {
  constexpr float kTop = sizeof(T) == 1 ? 255.0f : 1.0f;
  const float above = 0.0f < x ? x : 0.0f;
  return static_cast<T>(kTop < above ? kTop : above);
}

// ratio * x + (1 - ratio) * other, as a value of the type of images; `other` is a whole number if
// the arithmetic is Pillow's.
constexpr uint8_t blend_byte(float x, float other, float ratio, ImageArithmetic arithmetic) {
  // A product of floats is exact in double, so this is a fused multiplication and addition.
  const float y = arithmetic == ImageArithmetic::kPillow
                      ? other + ratio * (x - other)
                      : static_cast<float>(static_cast<double>(other) * (1.0f - ratio) +
                                           static_cast<double>(x * ratio));
  return static_cast<uint8_t>(y > 0 ? (y < 255 ? y : 255.0f) : 0.0f);
}

// The level of gray as a float that is whole for bytes.
template <bool kPillow, bool kFma, class T>
[[gnu::always_inline]] constexpr float gray_level(T r, T g, T b) {
  if constexpr (kPillow) {
    return static_cast<float>((19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16);
  } else {
    const float y = fused<kFma>(b, 0.114f, fused<kFma>(g, 0.587f, static_cast<float>(r) * 0.2989f));
    if constexpr (sizeof(T) == 1) return static_cast<float>(static_cast<int>(y));
    else return y;
  }
}

// Levels of gray of floats are added up in interleaved sums over blocks of pixels, in float; these
// in double. So the order is the same everywhere.
constexpr int64_t kSumBlock = 512;
constexpr int64_t kSumLanes = 16;

// A channel of a pixel whose level of gray is `gray`.
template <bool kPillow, bool kFma, class T>
[[gnu::always_inline]] constexpr T saturated(T x, float gray, float factor) {
  const auto value = static_cast<float>(x);
  if constexpr (kPillow) return store_clamped<T>(gray + factor * (value - gray));
  else return store_clamped<T>(fused<kFma>(gray, 1.0f - factor, value * factor));
}

// The element that is in the middle of these; `step` elements to the next pixel.
template <bool kPillow, bool kFma, class T>
[[gnu::always_inline]] constexpr T sharpened(const T* above, const T* row, const T* below,
                                             int64_t step, float factor) {
  const auto three = [step](const T* x) { return x[-step] + x[0] + x[step]; };
  const auto sum = three(above) + three(row) + three(below) + 4 * row[0];
  float smooth = static_cast<float>(sum) * static_cast<float>(1.0 / 13);
  constexpr float kHalf = 0.5f;
  // Rounded; std::trunc() would keep loops from being vectorized.
  if constexpr (sizeof(T) == 1) smooth = static_cast<float>(static_cast<int>(smooth + kHalf));
  const auto x = static_cast<float>(row[0]);
  if constexpr (kPillow) return store_clamped<T>(smooth + factor * (x - smooth));
  else return store_clamped<T>(fused<kFma>(smooth - x, 1.0f - factor, x));
}

// -- hue

struct Hsv {
  float h6, s, v;  // h6: the hue in sixths of a turn
};

// The value of a channel in a sextant of the circle of hues.
[[gnu::always_inline]] constexpr float pick(float sextant, float s0, float s1, float s2, float s3,
                                            float s4, float s5) {
  float y = s0;
  y = sextant == 1.0f ? s1 : y;
  y = sextant == 2.0f ? s2 : y;
  y = sextant == 3.0f ? s3 : y;
  y = sextant == 4.0f ? s4 : y;
  return sextant == 5.0f ? s5 : y;
}
// Of the values of the highest and the lowest channel, `v` and `p`, and of falling and rising ones.
// References, since loops that store a channel at once are faster by 8 % than with a result.
[[gnu::always_inline]] constexpr void pick_channels(float& r, float& g, float& b, float sextant,
                                                    float v, float p, float q, float t) {
  r = pick(sextant, v, q, p, p, t, v);
  g = pick(sextant, t, v, v, q, p, p);
  b = pick(sextant, p, p, t, v, v, q);
}
[[gnu::always_inline]] constexpr float sextant_of(float x) {  // of 0 <= x <= 6
  float y = x >= 1.0f ? 1.0f : 0.0f;
  for (int k = 2; k <= 6; ++k) y = x >= static_cast<float>(k) ? static_cast<float>(k) : y;
  return y;
}

// With the hue turned by `turn`.
[[gnu::always_inline]] constexpr Hsv turned_hsv(float red, float green, float blue, float turn) {
  float high = red > green ? red : green, low = red < green ? red : green;
  high = blue > high ? blue : high;
  low = blue < low ? blue : low;
  const float range = high - low;
  const float s = range / (range == 0.0f ? 1.0f : high), by = range == 0.0f ? 1.0f : range;
  const float rc = (high - red) / by, gc = (high - green) / by, bc = (high - blue) / by;
  const float if_red = bc - gc, if_green = rc + 2.0f - bc, if_blue = gc + 4.0f - rc;
  float h = high == green ? if_green : if_blue;
  h = high == red ? if_red : h;
  h = h * static_cast<float>(1.0 / 6) + 1.0f;
  h = h - (h >= 1.0f ? 1.0f : 0.0f);
  h = h + turn;
  h = h + (h < 0.0f ? 1.0f : 0.0f);
  h = h - (h >= 1.0f ? 1.0f : 0.0f);
  return {h * 6.0f, s, high};
}
[[gnu::always_inline]] constexpr void to_rgb(float& r, float& g, float& b, Hsv x) {
  float sextant = sextant_of(x.h6);
  const float sf = x.s * (x.h6 - sextant), less = 1.0f - x.s;
  sextant = sextant >= 6.0f ? 0.0f : sextant;
  const auto unit = [](float y) {
    y = y < 0.0f ? 0.0f : y;
    return y > 1.0f ? 1.0f : y;
  };
  const float q = unit((1.0f - sf) * x.v), t = unit((sf + less) * x.v), p = unit(less * x.v);
  pick_channels(r, g, b, sextant, x.v, p, q, t);
}
// torchvision's factors of conversion between elements and floats.
template <class T>
constexpr float kFromElement = sizeof(T) == 1 ? static_cast<float>(1.0 / 255) : 1.0f;
template <class T>
constexpr float kToElement = sizeof(T) == 1 ? static_cast<float>(256 - 1e-3) : 1.0f;

// Pillow's hue and saturation are bytes, and turns are in 256ths.
constexpr int pillow_turn(float turn) { return static_cast<int>(turn * 255.0f) & 255; }

// 0 to 255, without the fraction.
[[gnu::always_inline]] constexpr double byte_part(double x) {
  constexpr double kNoFraction = 0x1p52;
  const double rounded = (x + kNoFraction) - kNoFraction;
  return rounded - (rounded > x ? 1.0 : 0.0);
}
// Of a pixel of bytes: how far channels are below the largest, of the range; saturation and value.
struct PillowParts {
  float r, g, b, s, v;
};
[[gnu::always_inline]] constexpr PillowParts pillow_parts(float red, float green, float blue) {
  float high = red > green ? red : green, low = red < green ? red : green;
  high = blue > high ? blue : high;
  low = blue < low ? blue : low;
  const float range = high - low, by = range == 0.0f ? 1.0f : range;
  return {(high - red) / by, (high - green) / by, (high - blue) / by,
          range / (high == 0.0f ? 1.0f : high), high};
}
[[gnu::always_inline]] constexpr double pillow_hue(double rc, double gc, double bc, double turn) {
  // The channels that are the largest are 0.
  const double if_red = static_cast<float>(bc - gc), if_green = static_cast<float>(2.0 + rc - bc),
               if_blue = static_cast<float>(4.0 + gc - rc);
  const double is_red = rc == 0.0 ? 1.0 : 0.0;
  const double is_green = gc == 0.0 ? 1.0 - is_red : 0.0, is_gray = rc + gc + bc == 0.0 ? 1.0 : 0.0;
  double h = is_red * if_red + is_green * if_green + (1.0 - is_red - is_green) * if_blue;
  h = h / 6.0 + 1.0;
  h = h - (h >= 1.0 ? 1.0 : 0.0);
  h = byte_part(static_cast<double>(static_cast<float>(h)) * 255.0);
  h = h * (1.0 - is_gray) + turn;
  return h - (h >= 256.0 ? 256.0 : 0.0);
}
[[gnu::always_inline]] constexpr double pillow_saturation(float s) {
  return byte_part(static_cast<double>(s) * 255.0);
}
[[gnu::always_inline]] constexpr void pillow_to_rgb(float& r, float& g, float& b, double h,
                                                    double s, float high) {
  const auto h6 = static_cast<float>(h * 6.0 / 255.0);
  const auto fs = static_cast<float>(s / 255.0);
  float sextant = sextant_of(h6);
  const float f = h6 - sextant;
  sextant = sextant >= 6.0f ? 0.0f : sextant;
  const double v = high;
  const auto p = static_cast<float>(byte_part(v * (1.0 - static_cast<double>(fs)) + 0.5));
  const auto q = static_cast<float>(byte_part(v * (1.0 - static_cast<double>(fs * f)) + 0.5));
  const auto t = static_cast<float>(
      byte_part(v * (1.0 - static_cast<double>(fs) * (1.0 - static_cast<double>(f))) + 0.5));
  pick_channels(r, g, b, sextant, high, p, q, t);
}

// -- single values

// The number that bytes are masked with to keep `bits` bits, 0 to 8.
constexpr int posterize_mask(float bits) { return 256 - (1 << (8 - static_cast<int>(bits))); }
constexpr uint8_t solarized(uint8_t x, float from) {
  return static_cast<uint8_t>(x >= 255.0 * static_cast<double>(from) ? 255 - x : x);
}

constexpr float solarized(float x, float from) { return x >= from ? 1.0f - x : x; }
constexpr float to_unit(float x) { return std::clamp(x, 0.0f, 1.0f); }
// As many levels as `bits` bits have.
constexpr float posterized(float x, float levels) {
  return std::clamp(std::floor(x * levels), 0.0f, levels - 1) * (1.0f / levels);
}
constexpr float posterize_levels(float bits) {
  const int levels = 256 / (256 - posterize_mask(bits));
  return static_cast<float>(levels);
}
// The byte of a float from 0 to 1, as torchvision converts it.
constexpr uint8_t byte_of(float x) {
  return static_cast<uint8_t>(std::clamp(x * static_cast<float>(256 - 1e-3), 0.0f, 255.0f));
}
constexpr float float_of(uint8_t x) { return static_cast<float>(x) / 255.0f; }

}  // namespace torchdali::kernels
