// SPDX-License-Identifier: Apache-2.0
// The artifacts of JPEG compression: an image is encoded and decoded in memory.
#pragma once

#include <cstdint>

namespace torchdali::io {

// The largest side that libjpeg supports.
constexpr int64_t kMaxJpegSide = 65500;

// RGB pixels, [height, width, 3], with extents from 1 to kMaxJpegSide, a quality of 1 to 100 (the
// scale of the IJG) and chroma at half the resolution. `out` must differ from `in`. Raises
// kUnsupported if torchdali was built without libjpeg-turbo.
void distort_jpeg(uint8_t* out, const uint8_t* in, int64_t height, int64_t width, int quality);

}  // namespace torchdali::io
