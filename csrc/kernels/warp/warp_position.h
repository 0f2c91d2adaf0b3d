// SPDX-License-Identifier: Apache-2.0
// Warping, one pixel or one axis at a time: positions, taps and weights, for the loops of the CPU
// and for the GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/border.h"
#include "kernels/warp/warp.h"

namespace torchdali::kernels {

// The pixel that contains a position. A pixel far outside if the position is far away, infinite or
// NaN.
constexpr int64_t whole_position(float position) {
  constexpr float kFar = 0x1p40f;
  if (!(position > -kFar)) return -(int64_t{1} << 40);  // NaN too
  return static_cast<int64_t>(std::floor(position < kFar ? position : kFar));
}

// Selections of this form compile to one instruction; NaN becomes `bound`.
constexpr float at_least(float x, float bound) { return x > bound ? x : bound; }
constexpr float at_most(float x, float bound) { return x < bound ? x : bound; }

// The center of pixel `i` after pixel `first`, on one axis of an affine map.
constexpr float affine_position(float step, float base, int64_t first, int32_t i) {
  const float start = static_cast<float>(first) + 0.5f;
  return step * (start + static_cast<float>(i)) + base;
}

// Whether a position outside has the index of the nearer end, or none.
constexpr bool repeats(Border border) {
  return border == Border::kClamp || border == Border::kConstant;
}

// value = w0 * source[i0] + w1 * source[i1]
struct WarpTap {
  int32_t i0, i1;
  float w0, w1;
};

// Taps along an axis with Border::kClamp or kConstant. The first tap is kept at least one pixel
// before the last pixel, and weights are the triangle 1 - |distance|. A pixel outside therefore has
// weights of 0 without a test, and weights inside sum to exactly 1.
class AxisTaps {
 public:
  constexpr AxisTaps(int32_t extent, bool clamp)
      : last_first_(extent > 1 ? extent - 2 : 0),
        second_(extent > 1 ? 1 : 0),
        low_(clamp ? 0.0f : -1.0f),
        high_(static_cast<float>(clamp ? extent - 1 : extent)) {}
  constexpr WarpTap operator()(float at) const {
    const float v = at_most(at_least(at - 0.5f, low_), high_);
    const int32_t whole = static_cast<int32_t>(at_least(v, 0.0f));
    const int32_t index = whole < last_first_ ? whole : last_first_;
    const float from = v - static_cast<float>(index);
    return {index, index + second_, at_least(1.0f - std::fabs(from), 0.0f),
            at_least(1.0f - std::fabs(from - 1.0f), 0.0f) * static_cast<float>(second_)};
  }

 private:
  int32_t last_first_, second_;
  float low_, high_;
};
// The other borders, where taps need not be adjacent.
constexpr WarpTap mapped_tap(float at, int64_t extent, Border border) {
  const float v = at - 0.5f;
  const int64_t whole = whole_position(v);
  const float second = v - static_cast<float>(whole);
  const bool usable = second >= 0 && second <= 1;  // neither NaN nor far away
  const float w1 = usable ? second : 0;
  return {static_cast<int32_t>(border_index(whole, extent, border)),
          static_cast<int32_t>(border_index(whole + 1, extent, border)), 1 - w1, w1};
}

// Index of the pixel that a position is in, with Border::kClamp, or kConstant: -1 outside.
class AxisNearest {
 public:
  constexpr explicit AxisNearest(int32_t extent)
      : last_(extent - 1), high_(static_cast<float>(last_)), end_(static_cast<float>(extent)) {}
  constexpr int32_t clamped(float at) const {
    const int32_t whole = static_cast<int32_t>(at_most(at_least(at, 0.0f), high_));
    return whole < last_ ? whole : last_;
  }
  constexpr int32_t inside(float at) const {
    const int32_t is_inside = (at >= 0.0f) & (at < end_);
    return clamped(at) | (is_inside - 1);
  }

 private:
  int32_t last_;
  float high_, end_;
};
constexpr int32_t mapped_nearest(float at, int64_t extent, Border border) {
  return static_cast<int32_t>(border_index(whole_position(at), extent, border));
}

// The source positions of fn.sphere.
struct SphereMap {
  float middle_x, middle_y, unit;
  constexpr SphereMap(int64_t height, int64_t width)
      : middle_x(static_cast<float>(width) * 0.5f),
        middle_y(static_cast<float>(height) * 0.5f),
        unit(static_cast<float>(std::max(width / 2, height / 2))) {}
  constexpr float from_middle(int64_t at, float middle) const {
    return static_cast<float>(at) + 0.5f - middle;
  }
  // The factor of a position relative to the center.
  constexpr float scale(float x, float y) const { return std::sqrt(x * x + y * y) / unit; }
};

// The shift of a pixel in fn.jitter, from a draw: -degree / 2 to degree / 2. Probabilities differ
// by at most range / 2^32.
constexpr int64_t jitter_shift(uint32_t draw, int64_t degree) {
  const uint64_t range = static_cast<uint64_t>(degree / 2 * 2 + 1);
  return static_cast<int64_t>(draw * range >> 32) - degree / 2;
}

// Weights of the four taps and of the fill value in fixed point, which sum to 2^14.
inline constexpr int kWarpWeightBits = 14;
struct FixedWeight {
  int32_t w00, w01, w10, w11, fill;
};
constexpr FixedWeight fixed_weight(float x0, float x1, float y0, float y1) {
  constexpr int32_t kOne = 1 << kWarpWeightBits;
  constexpr float kScale = static_cast<float>(kOne);
  // Rounds a weight, which is never negative. std::lround is a call.
  constexpr float kHalf = 0.5f;
  const auto rounded = [](float weight) { return static_cast<int32_t>(weight + kHalf); };
  const float left = x0 * kScale, right = x1 * kScale;
  FixedWeight w{rounded(y0 * left), rounded(y0 * right), rounded(y1 * left), rounded(y1 * right),
                0};
  w.fill = kOne - (w.w00 + w.w01 + w.w10 + w.w11);
  return w;
}

// Windows of four and six taps.
inline constexpr int kMaxWarpTaps = 6;
constexpr float cubic_weight(float x) {
  constexpr float a = -0.5f;
  x = std::fabs(x);
  if (x >= 2) return 0;
  if (x >= 1) return ((x - 5) * x + 8) * x * a - 4 * a;
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
constexpr float lanczos3_weight(float x) {
  const auto sinc = [](auto at) {
    constexpr float kPi = 3.14159265f;
    return at == 0 ? 1.0f : std::sin(kPi * at) / (kPi * at);
  };
  return std::fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0.0f;
}
// Indices (-1: outside) and weights, which sum to 1, around a position.
struct AxisWindow {
  int64_t index[kMaxWarpTaps] = {};
  float weight[kMaxWarpTaps] = {};
  constexpr AxisWindow(float position, int64_t extent, Border border, WarpFilter filter) {
    const int radius = filter == WarpFilter::kCubic ? 2 : 3;
    const float at = position - 0.5f;
    const int64_t first = whole_position(at) - radius + 1;
    const float whole = std::floor(at);
    const float fraction = std::fabs(at) < 0x1p31f ? at - whole : 0.0f;  // NaN: 0 too
    float sum = 0;
    for (int k = 0; k < 2 * radius; ++k) {
      const float distance = static_cast<float>(k - radius + 1) - fraction;
      index[k] = border_index(first + k, extent, border);
      weight[k] = filter == WarpFilter::kCubic ? cubic_weight(distance) : lanczos3_weight(distance);
      sum += weight[k];
    }
    for (int k = 0; k < 2 * radius; ++k) weight[k] /= sum;
  }
};

}  // namespace torchdali::kernels
