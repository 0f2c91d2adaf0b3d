// SPDX-License-Identifier: Apache-2.0
// Boxes of an image that was pasted onto a canvas, for the host and the GPU.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// From fractions of the image to fractions of the canvas.
struct PastedBoxes {
  float scale = 1;        // size of the image over that of the canvas
  float shift[2] = {};    // x and y of the image's corner
  bool are_ltrb = false;  // boxes are two corners, not a corner and a size

  // Coordinate `i` of an array of boxes, four coordinates each.
  constexpr float operator()(int64_t i, float coordinate) const {
    const bool is_size = !are_ltrb && i % 4 >= 2;
    return coordinate * scale + (is_size ? 0.0f : shift[i % 2]);
  }
};

}  // namespace torchdali::kernels
