// SPDX-License-Identifier: Apache-2.0
// y = (x - mean) * scale + shift over rows of pixels, with a change between interleaved (HWC) and
// planar (CHW) order and mirroring. Computed in float, in this order of operations. Results are
// bit-identical to DALI's if shift is 0, and do not depend on the instruction set.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// Three interleaved channels of uint8 to three planes of float: the common case, in one pass.
struct RgbPlanes {
  const uint8_t* in;  // first pixel
  int64_t in_row;     // bytes from row to row
  float* out;         // first pixel of the first plane
  int64_t out_row;    // elements from row to row
  int64_t out_plane;  // and from plane to plane
  int64_t height, width;
  bool mirror;  // the last pixel of a row comes first
  float mean[3], scale[3];
  float shift;
  bool bypass_cache;  // whether stores may
};
void normalize_rgb_to_planes(const RgbPlanes& planes);

// In place, one mean and scale.
void normalize_line(float* x, int64_t count, float mean, float scale, float shift);
// In place, one mean and scale per element.
void normalize_pattern(float* x, const float* mean, const float* scale, int64_t count, float shift);
// [pixels, channels] to [channels, pixels] and back: swap the counts.
void transpose(float* out, const float* in, int64_t rows, int64_t columns);

}  // namespace torchdali::kernels
