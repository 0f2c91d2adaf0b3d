// SPDX-License-Identifier: Apache-2.0
// Which JPEG decoder is tried first. The environment variable TORCHDALI_JPEG_DECODER is "own" or
// "libjpeg-turbo", for comparisons and debugging; the pixels are the same.
#pragma once

#include <string>

namespace torchdali::io::jpeg {

enum class Choice { kOwn, kLibjpegTurbo };

// Raises a value error for an unknown name. Any thread; costs one relaxed load.
Choice active_choice();

// For tests that compare both in one process. Must not be called while images are decoded.
void set_active_choice(Choice choice);

}  // namespace torchdali::io::jpeg
