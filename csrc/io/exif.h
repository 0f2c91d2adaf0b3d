// SPDX-License-Identifier: Apache-2.0
// The one EXIF fact that decoding needs: how the camera was held.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::io {

// Orientation 1..8 from a TIFF structure (what follows "Exif\0\0" in a JPEG's APP1, or fills a
// PNG's eXIf chunk); 1 where it is missing or broken. Never raises.
int exif_orientation(std::span<const uint8_t> tiff);

}  // namespace torchdali::io
