// SPDX-License-Identifier: Apache-2.0
// The orientation of the camera, the only EXIF field that decoding needs.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::io {

// Orientation 1..8 from a TIFF structure (what follows "Exif\0\0" in a JPEG's APP1, or fills a
// PNG's eXIf chunk); 1 if it is missing or broken. Never raises.
int exif_orientation(std::span<const uint8_t> tiff);

}  // namespace torchdali::io
