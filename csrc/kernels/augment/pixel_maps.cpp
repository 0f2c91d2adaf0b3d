// SPDX-License-Identifier: Apache-2.0
// The maps of map_pixels.h.
#include <cmath>
#include <numbers>

#include "kernels/augment/map_pixels.h"

namespace torchdali::kernels {

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
