// SPDX-License-Identifier: Apache-2.0
// What the kernels of this folder share: the image, and whose arithmetic they follow.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// Two libraries define these operations; their results differ by rounding, and for the hue by more.
// kTorch: torchvision's functions on tensors. kPillow: those on Pillow's images, which are uint8.
enum class ImageArithmetic : int8_t { kTorch, kPillow };

// The extents of an image of 1 or 3 channels: [H, W, C], or [C, H, W] if planar.
struct ImageExtents {
  int64_t height = 0, width = 0, channels = 1;
  bool planar = false;
  constexpr int64_t pixels() const { return height * width; }
  constexpr int64_t volume() const { return pixels() * channels; }
};

}  // namespace torchdali::kernels
