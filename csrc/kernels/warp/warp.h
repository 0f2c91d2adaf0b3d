// SPDX-License-Identifier: Apache-2.0
// Sampling of images and volumes at arbitrary points, and the points of affine and perspective
// maps. See docs/design/warp.md for conventions and precision.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "kernels/border.h"

namespace torchdali::kernels {

// Points are computed and sampled in blocks of a row.
inline constexpr int kWarpBlock = 128;

// Source positions of the pixels of a block. Pixel i of an axis covers [i, i + 1), so 0.5 is the
// center of the first. Any value is a position, NaN and infinities too (outside, or the first or
// last pixel if the border repeats).
struct WarpPoints {
  alignas(64) float x[kWarpBlock];
  alignas(64) float y[kWarpBlock];
  alignas(64) float z[kWarpBlock];  // of volumes
};

// kCubic: Keys, 1981, with a = -0.5. Both it and kLanczos3 are for images only.
enum class WarpFilter : int8_t { kNearest, kLinear, kCubic, kLanczos3 };

// A dense image [H, W, channels] or volume [D, H, W, channels] to read from.
struct WarpSource {
  const void* data = nullptr;
  DType dtype = DType::kUInt8;
  std::array<int64_t, 3> extents = {1, 1, 1};  // D, H, W
  int64_t channels = 1;
  bool volume = false;  // otherwise D is 1 and z is ignored
  WarpFilter filter = WarpFilter::kLinear;
  Border border = Border::kClamp;
  // Values outside with kConstant: one for all channels, or one per channel.
  std::vector<float> fill = {0.0f};
  DType out_dtype = DType::kUInt8;
};

// Reads one image. Linear interpolation is done in float; uint8 to uint8 in fixed point with 14
// fraction bits. Conversion rounds halves away from zero and saturates. Immutable; any thread.
class WarpSampler {
 public:
  // Raises a value error if an axis is longer than 2^31 - 1, or if nothing can be read.
  explicit WarpSampler(WarpSource source);
  // `n` pixels from points[0..n) on to `out`, dense. n <= kWarpBlock.
  void sample(const WarpPoints& points, int64_t n, void* out) const;
  int64_t out_pixel_bytes() const { return out_pixel_bytes_; }
  // The source, with the fill values that both types can hold.
  const WarpSource& source() const { return source_; }
  bool empty() const { return empty_; }
  bool fixed_point() const { return fixed_point_; }
  const std::vector<char>& fill_pixel() const { return fill_pixel_; }

 private:
  void sample_wide(const WarpPoints& points, int64_t n, void* out) const;
  void sample_general(const WarpPoints& points, int64_t n, void* out) const;
  void fill_pixels(int64_t n, void* out) const;

  WarpSource source_;
  std::vector<char> fill_pixel_;  // in the output's type
  int64_t out_pixel_bytes_ = 0, in_bytes_ = 0;
  bool empty_ = false, fixed_point_ = false, copies_ = false;
};

// Taps of linear interpolation along one axis, for the pixels of a block: value = w0 * source[i0] +
// w1 * source[i1]; with kConstant w0 + w1 is less than 1 at the border. Indices are always inside.
struct WarpTaps {
  alignas(64) int32_t i0[kWarpBlock];
  alignas(64) int32_t i1[kWarpBlock];
  alignas(64) float w0[kWarpBlock];
  alignas(64) float w1[kWarpBlock];
};

// x[i] = step * (first + i + 0.5) + base: a row of an affine map.
void affine_points(float step, float base, int64_t first, int64_t n, float* x);
// A row of a perspective map: (steps[k] * (first + i + 0.5) + bases[k]) for k = 0, 1, divided by
// that for k = 2.
void perspective_points(const float* steps, const float* bases, int64_t first, int64_t n, float* x,
                        float* y);
// A row of fn.sphere.
struct SphereMap;
void sphere_points(const SphereMap& map, int64_t row, int64_t first, int64_t n, float* x, float* y);

// Calls make(points, d, h, w, n) for each block of each row of [D, H, W], and writes the values at
// the points.
template <class Make>
void warp(const WarpSampler& sampler, const std::array<int64_t, 3>& extents, void* out,
          Make&& make) {
  WarpPoints points;
  char* to = static_cast<char*>(out);
  for (int64_t d = 0; d < extents[0]; ++d)
    for (int64_t h = 0; h < extents[1]; ++h)
      for (int64_t w = 0; w < extents[2]; w += kWarpBlock) {
        const int64_t n = extents[2] - w < kWarpBlock ? extents[2] - w : kWarpBlock;
        make(points, d, h, w, n);
        sampler.sample(points, n, to);
        to += n * sampler.out_pixel_bytes();
      }
}

// The map of a row-major matrix of 2 x 3 or 3 x 4 numbers, from the centers of the result's pixels
// to positions in the source.
void warp_affine(const WarpSampler& sampler, bool volume, const float* matrix,
                 const std::array<int64_t, 3>& extents, void* out);

}  // namespace torchdali::kernels
