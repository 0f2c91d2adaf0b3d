// SPDX-License-Identifier: Apache-2.0
// Pictures of videos to interleaved pixels. docs/design/video.md.
#pragma once

#include <cstdint>

#include "kernels/video/picture.h"
#include "kernels/video/yuv_scalar.h"

namespace torchdali::kernels {

// A rectangle of a picture, in pixels.
struct PictureRegion {
  int x = 0, y = 0, width = 0, height = 0;
};

// kYCbCr: of BT.601 with limited range, whatever the stream has, as `color_space_conversion` has
// it; the samples themselves if the stream has that, too. kGray: BT.601's luma of full range.
enum class PixelOutput : int8_t { kRGB, kYCbCr, kGray };

constexpr int channels_of(PixelOutput output) { return output == PixelOutput::kGray ? 1 : 3; }

// Writes a region as uint8 [height, width, channels], rows `row_stride` bytes apart. Chroma samples
// are repeated. The arithmetic is that of yuv_scalar.h, equal for all instruction sets. Only
// samples of the region are read. Does not check the picture.
void picture_to_pixels(const Picture& picture, const PictureRegion& region, PixelOutput output,
                       uint8_t* out, int64_t row_stride);

PixelMap pixel_map(const Picture& picture, PixelOutput output);

}  // namespace torchdali::kernels
