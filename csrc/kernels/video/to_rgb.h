// SPDX-License-Identifier: Apache-2.0
// Pictures of videos to interleaved pixels. docs/design/video.md.
#pragma once

#include <cstdint>

#include "kernels/video/picture.h"

namespace torchdali::kernels {

// A rectangle of a picture, in pixels.
struct PictureRegion {
  int x = 0, y = 0, width = 0, height = 0;
};

enum class PixelOutput : int8_t { kRGB, kYCbCr, kGray };

// Writes a region as uint8 [height, width, channels], rows `row_stride` bytes apart. kYCbCr and kGray
// are those of BT.601 with limited range, as DALI's. The arithmetic is that of yuv_scalar.h, equal for
// all instruction sets.
void picture_to_pixels(const Picture& picture, const PictureRegion& region, PixelOutput output,
                       uint8_t* out, int64_t row_stride);

}  // namespace torchdali::kernels
