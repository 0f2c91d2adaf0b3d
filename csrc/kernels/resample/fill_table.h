// SPDX-License-Identifier: Apache-2.0
// The geometry of an axis, and the weights of filters that are functions. Included by
// resample_table.cpp only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/resample/resample_table.h"

namespace torchdali::kernels {

// An empty region is widened to this, around its center.
inline constexpr float kMinRegion = 1e-3f;

struct Region {
  float low, high;
};
inline Region region_of(const ResampleAxis& axis) {
  if (std::abs(axis.high - axis.low) >= kMinRegion) return {axis.low, axis.high};
  const float center = 0.5f * (axis.low + axis.high);
  const float half = axis.high < axis.low ? -0.5f * kMinRegion : 0.5f * kMinRegion;
  return {center - half, center + half};
}

// The pixels that may have weight: at least one.
inline ResampleRange pixels_of(const ResampleAxis& axis) {
  if (!axis.cut) return {0, axis.in};
  const Region region = region_of(axis);
  const auto index = [](float x) { return static_cast<int64_t>(std::clamp(x, -0x1p40f, 0x1p40f)); };
  const int64_t begin =
      std::clamp<int64_t>(index(std::floor(std::min(region.low, region.high))), 0, axis.in - 1);
  return {begin, std::clamp<int64_t>(index(std::ceil(std::max(region.low, region.high))), begin + 1,
                                     axis.in)};
}

inline float support_radius(ResampleFilter filter) {
  switch (filter) {
    case ResampleFilter::kCubic: return 2;
    case ResampleFilter::kLanczos3: return 3;
    default: return 1;
  }
}

// Half the width of the filter in source pixels.
inline float axis_radius(const ResampleAxis& axis) {
  const float scale = axis_scale(axis);
  return support_radius(axis_filter(axis)) * (axis.antialias && scale > 1 ? scale : 1.0f);
}

// The distance between the centers of adjacent result pixels, in source pixels.
inline float axis_step(const ResampleAxis& axis) {
  const Region region = region_of(axis);
  return (region.high - region.low) / static_cast<float>(full_extent(axis));
}

// The index in the window of pixel i of the whole result.
inline int64_t place_of(const ResampleAxis& axis, int64_t i) {
  return axis.mirror ? axis.out - 1 - (i - axis.begin) : i - axis.begin;
}

inline int64_t to_index(float x) { return static_cast<int64_t>(std::clamp(x, -0x1p40f, 0x1p40f)); }

// Replaces std::ceil, which is a call in a baseline x86-64 build. |x| < 2^31.
inline float ceiling(float x) {
  const float whole = static_cast<float>(static_cast<int32_t>(x));
  return whole < x ? whole + 1 : whole;
}

// Where the supports of an axis begin.
struct Supports {
  explicit Supports(const ResampleAxis& axis, float bias) : step(axis_step(axis)) {
    const Region region = region_of(axis);
    const float radius = axis_radius(axis);
    base = to_index(std::clamp(std::floor(std::min(region.low, region.high) - radius), 0.0f,
                               static_cast<float>(axis.in)));
    origin = 0.5f * step + (region.low - static_cast<float>(base)) - 0.5f - radius + bias;
  }
  // Of pixel i of the whole result, relative to `base`.
  template <class Index>
  float left(Index i) const {
    return static_cast<float>(i) * step + origin;
  }
  float step, origin;
  int64_t base;  // a pixel near the region, where floats are most precise
};

// `filter(d)`: the weight at distance d from the left end of the support, in source pixels.
template <class Filter>
void fill_pixel(const ResampleAxis& axis, const Supports& supports, int64_t i, int64_t count,
                const ResampleRange& pixels, Filter filter, AxisTable& table) {
  const int taps = table.taps;
  const int64_t last_start = pixels.end - taps, place = place_of(axis, i);
  const float left = supports.left(i);
  const float first_position = std::abs(left) < 0x1p30f ? ceiling(left) : left;
  const int64_t first = to_index(first_position) + supports.base;
  const int64_t start = std::clamp(first, pixels.begin, last_start);
  float* weights = table.weights + place * taps;
  table.start[place] = static_cast<int32_t>(start);
  const float distance = first_position - left;
  float sum = 0;
  if (first == start && count <= taps) {
    for (int64_t k = 0; k < count; ++k) {
      const float w = filter(distance + static_cast<float>(k));
      weights[k] = w;
      sum += w;
    }
  } else {  // at a border: pixels outside are the border pixel, or have no weight
    std::fill(weights, weights + taps, 0.0f);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = std::clamp(first + k, pixels.begin, pixels.end - 1);
      if (axis.cut && at != first + k) continue;
      const float w = filter(distance + static_cast<float>(k));
      weights[at - start] += w;
      sum += w;
    }
    if (sum == 0) {  // a region outside the source, of which only the border pixel counts
      weights[first < pixels.begin ? 0 : taps - 1] = sum = 1;
    }
  }
  const float scale = 1.0f / sum;
  for (int k = 0; k < taps; ++k) weights[k] *= scale;
}

// The same for kAtOnce pixels from i on, in loops that are vectorized: three times as fast. Returns
// false if a support reaches over a border.
inline constexpr int kAtOnce = 16, kMaxTapsAtOnce = 8;
template <class Filter>
bool fill_pixels(const ResampleAxis& axis, const Supports& supports, int32_t i, int count,
                 const ResampleRange& pixels, Filter filter, AxisTable& table) {
  constexpr float kMaxPosition = 0x1p24f;
  if (std::abs(supports.left(i)) >= kMaxPosition ||
      std::abs(supports.left(i + kAtOnce - 1)) >= kMaxPosition)
    return false;
  int32_t first[kAtOnce];
  float distance[kAtOnce], sum[kAtOnce] = {}, weights[kMaxTapsAtOnce][kAtOnce];
  for (int j = 0; j < kAtOnce; ++j) {
    const float left = supports.left(i + j);
    first[j] = static_cast<int32_t>(left);
    first[j] += static_cast<float>(first[j]) < left;
    distance[j] = static_cast<float>(first[j]) - left;
  }
  for (const int32_t end : {first[0], first[kAtOnce - 1]})
    if (supports.base + end < pixels.begin || supports.base + end > pixels.end - count)
      return false;
  for (int k = 0; k < count; ++k)
    for (int j = 0; j < kAtOnce; ++j) {
      weights[k][j] = filter(distance[j] + static_cast<float>(k));
      sum[j] += weights[k][j];
    }
  for (float& s : sum) s = 1.0f / s;
  for (int j = 0; j < kAtOnce; ++j) {
    const int64_t place = place_of(axis, i + j);
    table.start[place] = first[j] + static_cast<int32_t>(supports.base);
    for (int k = 0; k < count; ++k) table.weights[place * count + k] = weights[k][j] * sum[j];
  }
  return true;
}

template <class Filter>
void fill_table(const ResampleAxis& axis, float bias, Filter filter, AxisTable& table) {
  const Supports supports(axis, bias);
  const int64_t count = static_cast<int64_t>(std::ceil(2 * axis_radius(axis)));
  const ResampleRange pixels = pixels_of(axis);
  const int64_t end = axis.begin + axis.out;
  const bool many =
      count == table.taps && count <= kMaxTapsAtOnce && end <= std::numeric_limits<int32_t>::max();
  for (int64_t i = axis.begin; i < end;) {
    if (many && i + kAtOnce <= end &&
        fill_pixels(axis, supports, static_cast<int32_t>(i), static_cast<int>(count), pixels,
                    filter, table)) {
      i += kAtOnce;
      continue;
    }
    const int64_t next = std::min(i + kAtOnce, end);
    for (; i < next; ++i) fill_pixel(axis, supports, i, count, pixels, filter, table);
  }
}

}  // namespace torchdali::kernels
