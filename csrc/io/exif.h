// SPDX-License-Identifier: Apache-2.0
// The orientation of the camera, the only EXIF field that decoding needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace torchdali::io {

// Orientation 1..8 from a TIFF structure: what a JPEG's APP1, a PNG's eXIf chunk or a WebP's EXIF
// chunk has, also after "Exif\0\0". nullopt if it is missing or broken. Never raises.
std::optional<int> exif_orientation(std::span<const uint8_t> tiff);

}  // namespace torchdali::io
