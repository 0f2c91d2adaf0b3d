// SPDX-License-Identifier: Apache-2.0
// Which JPEG decoder comes first: the environment variable TORCHDALI_JPEG_DECODER says "own" or
// "libjpeg-turbo". Pixels are the same; it is there to compare and to find faults.
#pragma once

#include <string>

namespace torchdali::io::jpeg {

enum class Choice { kOwn, kLibjpegTurbo };

// Raises a value error for an unknown name. Any thread; costs one relaxed load.
Choice active_choice();

// For tests that compare in one process. Not while images are decoded.
void set_active_choice(Choice choice);

}  // namespace torchdali::io::jpeg
