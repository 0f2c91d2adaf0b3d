// SPDX-License-Identifier: Apache-2.0
// Images of Pillow, which exports their memory by the Arrow C data interface (Pillow 11.2 and
// later): one byte a pixel for mode "L", four for "RGB". Source: the specification of the interface
// and Pillow's documentation. All functions need the GIL.
#pragma once

#include "python/bind.h"

namespace torchdali {

// What an image's __arrow_c_array__() returns, and its extents. Raise kValue if it is something
// else than `channels`, 1 or 3, tell.

// A tensor with the pixels: [H, W, C], or [C, H, W] if planar.
nb::object read_pillow_image(const nb::capsule& schema, const nb::capsule& array, int64_t height,
                             int64_t width, int channels, bool planar);
// Sets the pixels of a new image, which nothing else refers to, to those of a tensor [H, W, C].
void write_pillow_image(const nb::capsule& schema, const nb::capsule& array, nb::handle tensor);

}  // namespace torchdali
