// SPDX-License-Identifier: Apache-2.0
// The built-in decoder for the JPEG files that are common in data sets: 8-bit Huffman, sequential
// or progressive, gray, YCbCr or RGB. docs/design/jpeg.md.
#pragma once

#include <memory>

#include "io/image.h"
#include "io/pixel_target.h"

namespace torchdali::io::jpeg {

class Index;

// Writes the rows of target.region() as gray, RGB or BGR; `target` has been opened for them and
// describes the picture at 1 / `scale` (1, 2, 4 or 8) of the size in `info`, rounded up. Returns
// false if the file is of another kind, or anything in it is unusual, broken or missing. Rows may
// then have been written; the caller decodes with libjpeg-turbo instead. `index` makes regions
// faster the next time.
bool decode(Bytes bytes, const ImageInfo& info, PixelModel model, int scale, PixelTarget& target,
            Index* index = nullptr);

// The same together with another image; `target` is copied, its memory and all others have to stay.
// Null if decode() is as fast, or has to tell why it cannot decode the file.
std::unique_ptr<PairableDecode> prepare_decode(Bytes bytes, const ImageInfo& info, PixelModel model,
                                               int scale, const PixelTarget& target, Index* index);

}  // namespace torchdali::io::jpeg
