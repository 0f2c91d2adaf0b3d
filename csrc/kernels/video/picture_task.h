// SPDX-License-Identifier: Apache-2.0
// The tasks of picture_gpu.h.
#pragma once

#include <span>

#include "kernels/video/picture_gpu.h"
#include "kernels/video/to_rgb.h"

namespace torchdali::gpu {

// What a frame is made of, besides its picture.
struct FrameRules {
  kernels::PixelOutput output = kernels::PixelOutput::kRGB;
  int degrees = 0;  // by which the picture is turned clockwise: 0, 90, 180 or 270
  DType dtype = DType::kUInt8;
  float scale = 1;
};

// A frame of a picture whose planes are in memory of the GPU. The caller sets `out`.
PictureTask picture_task(const kernels::Picture& picture, const FrameRules& rules);
// A frame of one color, which has a value for each channel. `width` and `height` are the frame's.
PictureTask color_task(int width, int height, std::span<const uint8_t> color,
                       const FrameRules& rules);

}  // namespace torchdali::gpu
