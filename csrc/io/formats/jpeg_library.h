// SPDX-License-Identifier: Apache-2.0
// JPEG by libjpeg-turbo: the files that io/jpeg_decoder leaves to it. Internal to io/.
#pragma once

#include "io/pixel_target.h"

namespace torchdali::io {

// As decode_jpeg(); raises kUnsupported in a build without the library. `target` was opened for
// `model`.
void decode_with_library(Bytes bytes, const ImageInfo& info, PixelModel model,
                         const DecodeOptions& options, PixelTarget& target);

}  // namespace torchdali::io
