// SPDX-License-Identifier: Apache-2.0
// torchdali/_video.so, which wraps FFmpeg's libraries; loaded when the first video is opened.
#pragma once

#include <string>
#include <vector>

#include "io/video/libav_api.h"

namespace torchdali::io::video {

// Raises kUnsupported, saying what to install, if there is none.
const libav::Api& library();

// Where the package has the library; call it before the first use.
void set_library_path(std::string path);

// For python -m torchdali.info. `missing` says why there is none.
struct LibraryInfo {
  std::string release = {}, license = {}, missing = {};
  std::vector<std::string> decoders = {};
};
LibraryInfo library_info();

// What FFmpeg says of an error.
std::string error_text(int error);

}  // namespace torchdali::io::video
