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

// Makes `out`, of the channels and the order of axes of `image`. T is uint8_t or float; `out` and
// `in` do not overlap; `image` has at least one pixel and extents below 2^15 for Pillow, 2^24 for
// torch.
void map_pixels(uint8_t* out, int64_t height, int64_t width, const uint8_t* in,
                const ImageExtents& image, const PixelMap& map, const MapOptions& options);
void map_pixels(float* out, int64_t height, int64_t width, const float* in,
                const ImageExtents& image, const PixelMap& map, const MapOptions& options);

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
