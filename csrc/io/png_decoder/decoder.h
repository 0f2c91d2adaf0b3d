// SPDX-License-Identifier: Apache-2.0
// Decodes the PNG files that are common: all but interlaced ones.
#pragma once

#include "io/image.h"
#include "io/pixel_target.h"

namespace torchdali::io::png {

// Writes the rows of target.region(); `target` is open with the samples of the file: gray or
// colors, with alpha if there is some, of 8 bits, or 16. Returns false if the file is of another
// kind, broken, or unusual in any way; libpng decides then, and rows that were written are written
// again. A region does not check the data after it, as with libpng.
bool decode(Bytes bytes, const ImageInfo& info, PixelTarget& target);

}  // namespace torchdali::io::png
