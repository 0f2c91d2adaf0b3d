// SPDX-License-Identifier: Apache-2.0
// Our own decoder for the JPEG files that data sets hold: 8-bit Huffman, sequential or progressive,
// gray, YCbCr or RGB. docs/design/jpeg.md.
#pragma once

#include "io/image.h"
#include "io/pixel_target.h"

namespace torchdali::io::jpeg {

class Index;

// Writes the rows of target.region() as gray, RGB or BGR; `target` is open for that, of a picture
// of 1 / `scale` (1, 2, 4 or 8) of the size that `info` says, rounded up. False where the file is
// none of ours or anything about it is odd, broken or missing: rows may have been written,
// libjpeg-turbo decides what becomes of them. `index` makes regions faster the next time.
bool decode(Bytes bytes, const ImageInfo& info, PixelModel model, int scale, PixelTarget& target,
            Index* index = nullptr);

}  // namespace torchdali::io::jpeg
