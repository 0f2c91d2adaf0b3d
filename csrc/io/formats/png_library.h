// SPDX-License-Identifier: Apache-2.0
// PNG files through libpng: those that our decoder does not take.
#pragma once

#include "io/image.h"
#include "io/pixel_target.h"

namespace torchdali::io {

// Writes the rows of target.region(); `target` is open with the samples of the file.
void decode_png_with_library(Bytes bytes, const ImageInfo& info, PixelTarget& target);

}  // namespace torchdali::io
