// SPDX-License-Identifier: Apache-2.0
#include "kernels/augment/map_pixels.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/augment/map_scalar.h"

namespace torchdali::kernels {
namespace {

// Positions are from the result's center in pixels; of perspective maps, from its corner.
TorchGrid make_grid(const PixelMap& map, const ImageExtents& image, int64_t height, int64_t width,
                    bool perspective) {
  TorchGrid grid;
  grid.half_width = 0.5f * static_cast<float>(image.width);
  grid.half_height = 0.5f * static_cast<float>(image.height);
  auto x1 = static_cast<float>(map[2]), y1 = static_cast<float>(map[5]);
  if (perspective) {
    grid.w0 = static_cast<float>(map[6]);
    grid.w1 = static_cast<float>(map[7]);
  } else {
    const double cx = 0.5 * static_cast<double>(width), cy = 0.5 * static_cast<double>(height);
    // What is left of a shift that cancels out.
    const auto shift = [](double t) { return std::abs(t) < 1e-9 ? 0.0f : static_cast<float>(t); };
    x1 = shift(map[0] * cx + map[1] * cy + map[2] - 0.5 * static_cast<double>(image.width));
    y1 = shift(map[3] * cx + map[4] * cy + map[5] - 0.5 * static_cast<double>(image.height));
  }
  grid.xx = static_cast<float>(map[0]) / grid.half_width;
  grid.xy = static_cast<float>(map[1]) / grid.half_width;
  grid.x1 = x1 / grid.half_width;
  grid.yx = static_cast<float>(map[3]) / grid.half_height;
  grid.yy = static_cast<float>(map[4]) / grid.half_height;
  grid.y1 = y1 / grid.half_height;
  return grid;
}

FixedMap make_fixed(const PixelMap& map) {
  FixedMap to;
  const auto fixed = [](double x) {
    x = std::floor(x * 65536.0 + 0.5);
    return static_cast<int32_t>(x > -0x1p31 ? std::min(x, 0x1p31 - 1) : -0x1p31);  // also of NaN
  };
  for (const int k : {0, 1, 3, 4}) to.m[k] = fixed(map[static_cast<size_t>(k)]);
  to.m[2] = fixed(map[2] + map[0] * 0.5 + map[1] * 0.5);
  to.m[5] = fixed(map[5] + map[3] * 0.5 + map[4] * 0.5);
  return to;
}

// Whether Pillow uses fixed point: the corners of the result lie within it.
bool fits_fixed(const PixelMap& map, int64_t height, int64_t width) {
  const auto fits = [&](double x, double y) {
    const double at_x = x * map[0] + y * map[1] + map[2], at_y = x * map[3] + y * map[4] + map[5];
    return std::abs(at_x) < 32768.0 && std::abs(at_y) < 32768.0;
  };
  const auto w = static_cast<double>(width - 1), h = static_cast<double>(height - 1);
  return fits(0, 0) && fits(w, h) && fits(0, h) && fits(w, 0);
}

// Whether the map moves pixels by whole numbers and nothing else; those.
bool is_shift(const PixelMap& map, int64_t& x, int64_t& y) {
  const PixelMap same = {1, 0, map[2], 0, 1, map[5], 0, 0};
  if (map != same || std::round(map[2]) != map[2] || std::round(map[5]) != map[5]) return false;
  if (!(std::abs(map[2]) < 0x1p31 && std::abs(map[5]) < 0x1p31)) return false;
  x = static_cast<int64_t>(map[2]);
  y = static_cast<int64_t>(map[5]);
  return true;
}

MapWay pillow_way(const PixelMap& map, int64_t height, int64_t width, const MapOptions& options) {
  if (options.linear || options.perspective) return MapWay::kPillow;
  if (map[1] == 0 && map[3] == 0) return MapWay::kScaled;
  return fits_fixed(map, height, width) ? MapWay::kFixed : MapWay::kPillow;
}

}  // namespace

MapPlan plan_map(const PixelMap& map, const ImageExtents& image, int64_t height, int64_t width,
                 const MapOptions& options, bool bytes) {
  MapPlan plan{.image = image,
               .height = height,
               .width = width,
               .linear = options.linear,
               .perspective = options.perspective,
               .fills = !options.fill.empty(),
               .map = map};
  if ((bytes || !plan.linear) && is_shift(map, plan.shift_x, plan.shift_y)) {
    plan.linear = false;
  } else if (options.arithmetic == ImageArithmetic::kPillow) {
    plan.way = pillow_way(map, height, width, options);
    if (plan.way == MapWay::kFixed) plan.fixed = make_fixed(map);
  } else {
    plan.way = MapWay::kTorch;
    plan.grid = make_grid(map, image, height, width, plan.perspective);
    plan.first_x = plan.perspective ? 0.5f : (1.0f - static_cast<float>(width)) * 0.5f;
    plan.first_y = plan.perspective ? 0.5f : (1.0f - static_cast<float>(height)) * 0.5f;
  }
  const bool whole = bytes && !(plan.linear && plan.way == MapWay::kTorch);
  for (size_t c = 0; c < 3 && plan.fills; ++c) {
    const float value = options.fill[std::min(c, options.fill.size() - 1)];
    plan.fill[c] = whole ? static_cast<float>(static_cast<uint8_t>(value)) : value;
  }
  return plan;
}

void scaled_columns(const MapPlan& plan, int32_t* to) {
  const auto width = static_cast<double>(plan.image.width);
  double at = plan.map[2] + plan.map[0] * 0.5;  // added up, as Pillow does
  for (int64_t i = 0; i < plan.width; ++i, at += plan.map[0]) to[i] = pillow_index(at, width);
}

PixelMap inverse_affine(const AffineArguments& arguments) {
  constexpr double kRadians = std::numbers::pi / 180;
  const double turn = arguments.angle * kRadians, shear_x = arguments.shear[0] * kRadians,
               shear_y = arguments.shear[1] * kRadians;
  // Rotation and shears, [[a, b], [c, d]], whose determinant is 1.
  const double a = std::cos(turn - shear_y) / std::cos(shear_y);
  const double b = -(a * std::tan(shear_x) + std::sin(turn));
  const double c = std::sin(turn - shear_y) / std::cos(shear_y);
  const double d = std::cos(turn) - c * std::tan(shear_x);
  const double by = arguments.scale;
  PixelMap map = {d / by, -b / by, 0, -c / by, a / by, 0, 0, 0};
  const auto [x, y] = arguments.center;
  const double moved_x = x + arguments.translate[0], moved_y = y + arguments.translate[1];
  map[2] = x - map[0] * moved_x - map[1] * moved_y;
  map[5] = y - map[3] * moved_x - map[4] * moved_y;
  return map;
}

PixelMap pillow_rotation(double degrees, const std::array<double, 2>& center) {
  const double turn = -std::remainder(degrees, 360.0) * (std::numbers::pi / 180);
  const auto rounded = [](double x) { return std::round(x * 1e15) / 1e15; };
  const double c = rounded(std::cos(turn)), s = rounded(std::sin(turn));
  const auto [x, y] = center;
  return {c, s, -c * x - s * y + x, -s, c, s * x - c * y + y, 0, 0};
}

}  // namespace torchdali::kernels
