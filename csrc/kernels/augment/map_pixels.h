// SPDX-License-Identifier: Apache-2.0
// Images under affine and perspective maps, with the grids and the rounding of torchvision on
// tensors (torch's affine_grid and grid_sample, in float) and of Pillow (16.16 fixed point, or
// double). docs/design/warp.md describes the sampler of DALI's operators, whose results differ at
// borders and where a position is halfway between pixels. Source: the documentation of torchvision
// 0.29, torch and Pillow 12, and their results.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/augment/augment_image.h"

namespace torchdali::kernels {

// From the corner of the result to that of the input: ((m0 x + m1 y + m2) / w, (m3 x + m4 y + m5) /
// w), where w = m6 x + m7 y + 1. The center of the first pixel is at (0.5, 0.5).
using PixelMap = std::array<double, 8>;

struct MapOptions {
  bool linear = false;  // else the nearest pixel
  ImageArithmetic arithmetic = ImageArithmetic::kTorch;
  // Values outside: none (0, without blending), or one for each channel.
  std::span<const float> fill = {};
  bool perspective = false;
};

// Positions as torch's grid_sample gets them, in float, from a grid that was made in float.
struct TorchGrid {
  float xx = 0, xy = 0, x1 = 0, yx = 0, yy = 0, y1 = 0;  // to -1 .. 1 over the input
  float w0 = 0, w1 = 0;                                  // of perspective maps
  float half_width = 0, half_height = 0;
};
// A map in Pillow's 16.16 fixed point.
struct FixedMap {
  int32_t m[6] = {};
};

// How positions are computed. kShift: by whole pixels. kFixed, kScaled and kPillow are Pillow's:
// with fixed point, with sums of steps along x, and in double.
enum class MapWay : int8_t { kShift, kTorch, kFixed, kScaled, kPillow };

// All that is known of a map before pixels are. Plain data, which the GPU reads too.
struct MapPlan {
  ImageExtents image;             // the input
  int64_t height = 0, width = 0;  // of the result
  MapWay way = MapWay::kShift;
  bool linear = false, perspective = false, fills = false;  // fills: there are values outside
  float fill[3] = {};                                       // whole, unless they are blended
  float first_x = 0, first_y = 0;                           // of the first pixel, for the grid
  int64_t shift_x = 0, shift_y = 0;
  PixelMap map = {1, 0, 0, 0, 1, 0, 0, 0};
  TorchGrid grid = {};
  FixedMap fixed = {};
};
// `bytes`: elements are uint8, else float.
MapPlan plan_map(const PixelMap& map, const ImageExtents& image, int64_t height, int64_t width,
                 const MapOptions& options, bool bytes);
// With kScaled, the source columns of all columns.
void scaled_columns(const MapPlan& plan, int32_t* to);

// Makes `out`, of the channels and the order of axes of the input. `out` and `in` do not overlap;
// the input has at least one pixel and extents below 2^15 for Pillow, 2^24 for torch.
void map_pixels(uint8_t* out, const uint8_t* in, const MapPlan& plan);
void map_pixels(float* out, const float* in, const MapPlan& plan);

// The inverse of: a rotation by `angle` degrees, clockwise in images, a scale and shears by degrees
// about `center`, then a translation. As torchvision's affine() defines it.
struct AffineArguments {
  double angle = 0;
  std::array<double, 2> translate = {0, 0};
  double scale = 1;
  std::array<double, 2> shear = {0, 0};
  std::array<double, 2> center = {0, 0};
};
PixelMap inverse_affine(const AffineArguments& arguments);

// The same for a counterclockwise rotation by `degrees`, with the rounding of Pillow's rotate().
PixelMap pillow_rotation(double degrees, const std::array<double, 2>& center);

}  // namespace torchdali::kernels
