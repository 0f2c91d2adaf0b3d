// SPDX-License-Identifier: Apache-2.0
// Maps of images, one pixel at a time: positions, taps and weights, for the loops of the CPU and
// for the GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/augment/map_pixels.h"

namespace torchdali::kernels {

struct FloatPosition {
  float x, y;
};
struct DoublePosition {
  double x, y;
};
// A pixel of the input; outside of it, a coordinate is negative.
struct SourcePixel {
  int32_t x, y;
};

// Where 0 is the center of the first pixel; the result's column and row from its center.
[[gnu::always_inline]] constexpr FloatPosition affine_position(const TorchGrid& grid, float column,
                                                               float row) {
  const double from_x = static_cast<double>(row) * grid.xy,
               from_y = static_cast<double>(row) * grid.yy;
  const float x = static_cast<float>(static_cast<double>(column * grid.xx) + from_x) + grid.x1;
  const float y = static_cast<float>(static_cast<double>(column * grid.yx) + from_y) + grid.y1;
  return {(x + 1.0f) * grid.half_width - 0.5f, (y + 1.0f) * grid.half_height - 0.5f};
}
// The same; the result's column and row from its corner.
[[gnu::always_inline]] constexpr FloatPosition perspective_position(const TorchGrid& grid,
                                                                    float column, float row) {
  const double from_x = static_cast<double>(row) * grid.xy,
               from_y = static_cast<double>(row) * grid.yy,
               from_w = static_cast<double>(row) * grid.w1;
  const float u = static_cast<float>(static_cast<double>(column * grid.xx) + from_x) + grid.x1;
  const float v = static_cast<float>(static_cast<double>(column * grid.yx) + from_y) + grid.y1;
  const float w = static_cast<float>(static_cast<double>(column * grid.w0) + from_w) + 1.0f;
  const float x = u / w - 1.0f, y = v / w - 1.0f;
  return {(x + 1.0f) * grid.half_width - 0.5f, (y + 1.0f) * grid.half_height - 0.5f};
}

// The position of a pixel of the result.
[[gnu::always_inline]] constexpr FloatPosition torch_position(const MapPlan& plan, int64_t column,
                                                              int64_t row) {
  const float x = plan.first_x + static_cast<float>(column),
              y = plan.first_y + static_cast<float>(row);
  return plan.perspective ? perspective_position(plan.grid, x, y)
                          : affine_position(plan.grid, x, y);
}

// Rounds to the nearest, halves to even; outside of -1 .. n, and for NaN, -1.
[[gnu::always_inline]] constexpr int32_t nearest_index(float at, float n) {
  constexpr float kNoFraction = 0x1.8p23f;
  const float above = at > -1.0f ? at : -1.0f;
  const float inside = above < n ? above : n;
  const auto index = static_cast<int32_t>((inside + kNoFraction) - kNoFraction);
  return index < static_cast<int32_t>(n) ? index : -1;
}

// Pillow's positions, from the corner of the first pixel.
[[gnu::always_inline]] constexpr DoublePosition pillow_position(const MapPlan& plan, int64_t column,
                                                                double row) {
  const PixelMap& map = plan.map;
  const double at = static_cast<double>(static_cast<int>(column)) + 0.5;
  DoublePosition to = {map[0] * at + map[1] * row + map[2], map[3] * at + map[4] * row + map[5]};
  if (plan.perspective) {
    const double w = map[6] * at + map[7] * row + 1;
    to.x /= w;
    to.y /= w;
  }
  return to;
}
[[gnu::always_inline]] constexpr int32_t pillow_index(double at, double n) {
  return at >= 0 && at < n ? static_cast<int32_t>(at) : -1;
}
// The row that a row comes from, if the map only scales.
constexpr double scaled_row(const MapPlan& plan, int64_t row) {
  return plan.map[5] + plan.map[4] * (static_cast<double>(row) + 0.5);
}
// The sums wrap around, as those of Pillow do.
[[gnu::always_inline]] constexpr SourcePixel fixed_pixel(const FixedMap& map, uint32_t column,
                                                         uint32_t row, int32_t width,
                                                         int32_t height) {
  const auto at = [&](int k) {
    return static_cast<int32_t>(static_cast<uint32_t>(map.m[k + 2]) +
                                row * static_cast<uint32_t>(map.m[k + 1]) +
                                column * static_cast<uint32_t>(map.m[k])) >>
           16;
  };
  const int32_t x = at(0), y = at(3);
  return {x < width ? x : -1, y < height ? y : -1};
}

template <class T>
[[gnu::always_inline]] constexpr T round_sample(float x) {
  if constexpr (sizeof(T) != 1) return x;
  else {
    constexpr float kNoFraction = 0x1.8p23f;
    return static_cast<T>(static_cast<int>((x + kNoFraction) - kNoFraction));
  }
}

// Elements between neighbors of an input.
template <int kChannels>
struct SourceSteps {
  int64_t pixel, row, channel;
  constexpr explicit SourceSteps(const ImageExtents& image)
      : pixel(image.planar ? 1 : kChannels),
        row(image.width * pixel),
        channel(image.planar ? image.pixels() : 1) {}
};

// As grid_sample: what is outside is 0, which is then blended with `fill`, unless that is null.
template <class T, int kChannels>
[[gnu::always_inline]] constexpr void sample_torch(T (&to)[kChannels], const T* in,
                                                   const ImageExtents& image, FloatPosition at,
                                                   const float* fill) {
  const SourceSteps<kChannels> step(image);
  const auto width = static_cast<float>(image.width), height = static_cast<float>(image.height);
  float sum[kChannels] = {}, mask = 0;
  if (at.x > -1.0f && at.x < width && at.y > -1.0f && at.y < height) {
    const float left = std::floor(at.x), top = std::floor(at.y);
    const float e = at.x - left, s = at.y - top, w = 1.0f - e, north = 1.0f - s;
    const auto x = static_cast<int64_t>(left), y = static_cast<int64_t>(top);
    const float weights[4] = {north * w, north * e, s * w, s * e};
    if (x >= 0 && y >= 0 && x + 1 < image.width && y + 1 < image.height) {
      const T* from = in + y * step.row + x * step.pixel;
      for (int c = 0; c < kChannels; ++c) {
        const T* p = from + c * step.channel;
        sum[c] = static_cast<float>(p[0]) * weights[0] +
                 static_cast<float>(p[step.pixel]) * weights[1] +
                 static_cast<float>(p[step.row]) * weights[2] +
                 static_cast<float>(p[step.row + step.pixel]) * weights[3];
      }
      mask = 1;
    } else {
      for (int k = 0; k < 4; ++k) {
        const int64_t at_x = x + (k & 1), at_y = y + (k >> 1);
        if (at_x < 0 || at_y < 0 || at_x >= image.width || at_y >= image.height) continue;
        const T* from = in + at_y * step.row + at_x * step.pixel;
        for (int c = 0; c < kChannels; ++c)
          sum[c] += static_cast<float>(from[c * step.channel]) * weights[k];
        mask += weights[k];
      }
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    if (fill != nullptr && mask != 1) sum[c] = (sum[c] - fill[c]) * mask + fill[c];
    to[c] = round_sample<T>(sum[c]);
  }
}

// As Pillow: outside, nothing is blended, and border pixels are repeated.
template <int kChannels>
[[gnu::always_inline]] constexpr void sample_pillow(uint8_t (&to)[kChannels], const uint8_t* in,
                                                    const ImageExtents& image, DoublePosition at,
                                                    const uint8_t* fill) {
  const SourceSteps<kChannels> step(image);
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  if (!(at.x >= 0 && at.x < width && at.y >= 0 && at.y < height)) {
    for (int c = 0; c < kChannels; ++c) to[c] = fill[c];
    return;
  }
  const double px = at.x - 0.5, py = at.y - 0.5;
  const double left = std::floor(px), top = std::floor(py), dx = px - left, dy = py - top;
  const auto x = static_cast<int64_t>(left), y = static_cast<int64_t>(top);
  const int64_t x0 = (x > 0 ? x : 0) * step.pixel;
  const int64_t x1 = (x + 1 < image.width ? x + 1 : image.width - 1) * step.pixel;
  const uint8_t* first = in + (y > 0 ? y : 0) * step.row;
  const uint8_t* second = in + (y + 1 < image.height ? y + 1 : image.height - 1) * step.row;
  for (int c = 0; c < kChannels; ++c, first += step.channel, second += step.channel) {
    const auto mix = [dx](double a, double b) { return a + (b - a) * dx; };
    const double upper = mix(first[x0], first[x1]), lower = mix(second[x0], second[x1]);
    to[c] = static_cast<uint8_t>(upper + (lower - upper) * dy);
  }
}

// The source of a pixel, where that is one pixel. `columns`: see scaled_columns().
[[gnu::always_inline]] constexpr SourcePixel source_pixel(const MapPlan& plan,
                                                          const int32_t* columns, int64_t column,
                                                          int64_t row) {
  const ImageExtents& image = plan.image;
  const auto width = static_cast<int32_t>(image.width), height = static_cast<int32_t>(image.height);
  switch (plan.way) {
    case MapWay::kShift: {
      const int64_t x = column + plan.shift_x, y = row + plan.shift_y;
      return {x >= 0 && x < width ? static_cast<int32_t>(x) : -1,
              y >= 0 && y < height ? static_cast<int32_t>(y) : -1};
    }
    case MapWay::kFixed:
      return fixed_pixel(plan.fixed, static_cast<uint32_t>(column), static_cast<uint32_t>(row),
                         width, height);
    case MapWay::kScaled: return {columns[column], pillow_index(scaled_row(plan, row), height)};
    case MapWay::kPillow: {
      const DoublePosition at = pillow_position(plan, column, static_cast<double>(row) + 0.5);
      return {pillow_index(at.x, width), pillow_index(at.y, height)};
    }
    default: break;
  }
  const FloatPosition at = torch_position(plan, column, row);
  return {nearest_index(at.x, static_cast<float>(width)),
          nearest_index(at.y, static_cast<float>(height))};
}

// The values of one pixel of the result.
template <class T, int kChannels>
constexpr void map_pixel(T (&to)[kChannels], const T* in, const MapPlan& plan,
                         const int32_t* columns, int64_t column, int64_t row) {
  if (plan.linear && plan.way == MapWay::kTorch) {
    sample_torch(to, in, plan.image, torch_position(plan, column, row),
                 plan.fills ? plan.fill : nullptr);
    return;
  }
  T fill[kChannels] = {};
  for (int c = 0; c < kChannels; ++c) fill[c] = static_cast<T>(plan.fill[c]);
  if constexpr (sizeof(T) == 1) {
    if (plan.linear) {
      const auto at = pillow_position(plan, column, static_cast<double>(row) + 0.5);
      sample_pillow(to, in, plan.image, at, fill);
      return;
    }
  }
  const SourcePixel from = source_pixel(plan, columns, column, row);
  const SourceSteps<kChannels> step(plan.image);
  for (int c = 0; c < kChannels; ++c)
    to[c] = (from.x | from.y) < 0 ? fill[c]
                                  : in[from.y * step.row + from.x * step.pixel + c * step.channel];
}

}  // namespace torchdali::kernels
