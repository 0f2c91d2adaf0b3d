// SPDX-License-Identifier: Apache-2.0
// Which codecs this build has, for torchdali.info.
#pragma once

#include <span>
#include <string_view>

namespace torchdali::io {

struct Codec {
  std::string_view format;   // "JPEG"
  std::string_view decoder;  // "libpng 1.6.39", "built in"; empty if unavailable
  std::string_view missing;  // files that need `package`, in a build without it; may be empty
  std::string_view package;  // the missing Debian package; empty if none is needed
};

std::span<const Codec> codecs();

}  // namespace torchdali::io
