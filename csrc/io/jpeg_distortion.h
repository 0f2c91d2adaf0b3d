// SPDX-License-Identifier: Apache-2.0
// What JPEG compression does to an image: encoded and decoded again, in memory.
#pragma once

#include <cstdint>

namespace torchdali::io {

// The largest side that JPEG files of libjpeg have.
constexpr int64_t kMaxJpegSide = 65500;

// RGB pixels, [height, width, 3], with neither 0 nor above kMaxJpegSide, at a quality of 1 to 100
// (the scale of the IJG) with chroma of half the resolution. `out` may not be `in`. Raises
// kUnsupported where libjpeg-turbo was not there when torchdali was built.
void distort_jpeg(uint8_t* out, const uint8_t* in, int64_t height, int64_t width, int quality);

}  // namespace torchdali::io
