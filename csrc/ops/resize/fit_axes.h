// SPDX-License-Identifier: Apache-2.0
// From the sizes that a user asks for to the extents of a result and its region of the input, for
// any number of axes.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

namespace torchdali {

// How sizes that were not given follow from those that were.
enum class ResizeMode { kDefault, kStretch, kNotLarger, kNotSmaller };
ResizeMode parse_resize_mode(const std::string& name);

enum class SizeRounding { kRound, kTruncate, kCeil };

struct FitAxis {
  float size = 0;   // asked for; 0: follows from the others; negative: mirrored
  float limit = 0;  // of the result; 0: none
  float low = 0;    // The region of the input; low > high mirrors. On return, what becomes the
  float high = 1;   // whole result.
  float alignment = 0.5f;  // the point of the region that stays where sizes are rounded, 0 to 1
  int64_t out = 0;         // on return, the extent of the result
};

// `subpixel_scale`: the region grows or shrinks where sizes are rounded.
void fit_axes(std::span<FitAxis> axes, ResizeMode mode, bool subpixel_scale,
              SizeRounding rounding = SizeRounding::kRound);

}  // namespace torchdali
