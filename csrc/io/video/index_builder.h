// SPDX-License-Identifier: Apache-2.0
// Makes the index of a video, by demuxing it once. docs/design/video.md.
#pragma once

#include "io/video/file_bytes.h"
#include "io/video/index.h"

namespace torchdali::io::video {

// Raises kData if this is not a video, kUnsupported if its pictures cannot be used.
Index build_index(const FileBytes& bytes);

}  // namespace torchdali::io::video
