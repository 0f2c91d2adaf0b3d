// SPDX-License-Identifier: Apache-2.0
// Our own decoder for the JPEG files that data sets hold: 8-bit sequential Huffman, one scan, gray,
// YCbCr or RGB. docs/design/jpeg.md.
#pragma once

#include "io/image.h"
#include "io/pixel_target.h"

namespace torchdali::io::jpeg {

// Writes the rows of target.region() as gray, RGB or BGR; `target` is open for that. False where
// the file is none of ours or anything about it is odd, broken or missing: rows may have been
// written, libjpeg-turbo decides what becomes of them.
bool decode(Bytes bytes, const ImageInfo& info, PixelModel model, PixelTarget& target);

}  // namespace torchdali::io::jpeg
