// SPDX-License-Identifier: Apache-2.0
// Which PNG decoder is tried first. The environment variable TORCHDALI_PNG_DECODER is "own" or
// "libpng", for comparisons and debugging; the pixels are the same.
#pragma once

namespace torchdali::io::png {

enum class Choice { kOwn, kLibpng };

// Raises a value error for an unknown name. Any thread; costs one relaxed load.
Choice active_choice();

// For tests that compare both in one process. Must not be called while images are decoded.
void set_active_choice(Choice choice);

}  // namespace torchdali::io::png
