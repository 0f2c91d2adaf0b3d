// SPDX-License-Identifier: Apache-2.0
// The headers of a JP2 file or of a bare JPEG 2000 codestream, as far as decoding needs them.
// Internal to io/formats.
#pragma once

#include "io/image.h"

namespace torchdali::io {

struct Jpeg2000Header {
  enum class Colors : int8_t { kUnknown, kGray, kRgb, kYcc, kCmyk };

  bool boxes = false;    // a JP2 file
  int64_t x = 0, y = 0;  // of the image on the reference grid
  int64_t height = 0, width = 0;
  uint64_t tiles = 1;
  int channels = 0;      // after the palette
  int bits = 8;          // of the widest channel
  int largest_step = 1;  // of subsampled components
  bool palette = false;
  Colors colors = Colors::kUnknown;
};

// `bytes` begin with a signature of JPEG 2000.
Jpeg2000Header read_jpeg2000_header(Bytes bytes);

}  // namespace torchdali::io
