// SPDX-License-Identifier: Apache-2.0
// The first directory of a TIFF or BigTIFF file, as far as decoding needs it. Internal to
// io/formats.
#pragma once

#include "io/image.h"

namespace torchdali::io {

struct TiffHeader {
  enum Compression : uint32_t {
    kNone = 1,
    kLzw = 5,
    kJpeg = 7,
    kDeflate = 8,
    kOldDeflate = 32946,
    kPackBits = 32773
  };
  enum Photometric : uint32_t {
    kWhiteIsZero = 0,
    kBlackIsZero = 1,
    kRgb = 2,
    kPalette = 3,
    kSeparated = 5,
    kYcbcr = 6
  };
  enum Planar : uint32_t { kContiguous = 1, kSeparate = 2 };
  enum SampleFormat : uint32_t { kUnsigned = 1, kSigned = 2, kFloat = 3, kVoid = 4 };

  int64_t height = 0, width = 0;
  uint32_t bits = 1;     // of a sample
  uint32_t samples = 1;  // of a pixel
  uint32_t compression = kNone;
  uint32_t photometric = kWhiteIsZero;
  uint32_t planar = kContiguous;
  uint32_t sample_format = kUnsigned;
  uint32_t orientation = 1;

  // Whether libtiff has to convert the colors. (libjpeg converts those of JPEG.)
  bool is_converted() const {
    if (photometric == kYcbcr) return compression != kJpeg || planar != kContiguous;
    return photometric > kPalette && photometric != kSeparated;
  }
};

// `bytes` begin with a signature of TIFF.
TiffHeader read_tiff_header(Bytes bytes);

}  // namespace torchdali::io
