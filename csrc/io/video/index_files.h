// SPDX-License-Identifier: Apache-2.0
// Where indices of videos are kept: beside the file, or in the user's cache.
#pragma once

#include <string>

#include "io/video/file_bytes.h"
#include "io/video/index.h"

namespace torchdali::io::video {

// The index of a file: the one that is kept, if the file is as it was then, else a new one, which
// is kept if there is a place for it. Any number of processes.
Index find_index(const std::string& path, const FileBytes& bytes);

}  // namespace torchdali::io::video
