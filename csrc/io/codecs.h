// SPDX-License-Identifier: Apache-2.0
// Which codecs this build has, for torchdali.info.
#pragma once

#include <span>
#include <string_view>

namespace torchdali::io {

struct Codec {
  std::string_view format;   // "JPEG"
  std::string_view library;  // "libjpeg-turbo 2.1.5", "built in"; empty where the build had none
  std::string_view package;  // the Debian package that brings it; empty where none is needed
};

std::span<const Codec> codecs();

}  // namespace torchdali::io
