// SPDX-License-Identifier: Apache-2.0
// An image of any layout as [planes, height, width, channels].
#pragma once

#include "core/layout.h"
#include "core/view.h"

namespace torchdali {

struct ImagePlanes {
  int64_t planes = 1, height = 1, width = 1, channels = 1;

  ImagePlanes() = default;
  // `layout` has H and W next to each other, and at most one axis before or after them.
  ImagePlanes(const Shape& shape, const Layout& layout) {
    const int h = layout.find('H');
    height = shape[h];
    width = shape[h + 1];
    if (h > 0) planes = shape[0];
    else if (shape.ndim() > 2) channels = shape[2];
  }
  int64_t plane_volume() const { return height * width * channels; }
};

}  // namespace torchdali
