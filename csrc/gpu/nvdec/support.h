// SPDX-License-Identifier: Apache-2.0
// Whether videos are decoded by NVDEC, the decoder of the GPU: docs/design/video.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/nvdec/cuvid_api.h"
#include "gpu/vendor/library.h"

namespace torchdali::gpu::nvdec {

// What the environment variable TORCHDALI_NVDEC says. Raises kValue for unknown values.
using Use = LibraryUse;
Use chosen_use();

// The library: the file that TORCHDALI_NVDEC_LIBRARY names, else libnvcuvid.so.1, which is part of
// NVIDIA's driver. Loaded at the first call. Null if it is not there; `why`, if given, says so.
const cuvid::Api* find_library(std::string* why = nullptr);

// A kind of videos.
struct Kind {
  cuvid::Codec codec = {};
  int bits = 8;
  auto operator<=>(const Kind&) const = default;
};
// FFmpeg's names of a codec and of the format of its pictures.
std::optional<cuvid::Codec> codec_of(std::string_view name);

// What a GPU says of a kind.
struct Answer {
  int error = cuvid::kSuccess;
  cuvid::Caps caps = {};
};
// Asks the GPU whose context is the current one.
Answer ask(const cuvid::Api& api, const Kind& kind);
// What stands against decoding videos of a kind and a size: "codec hevc of 10 bits"; empty if
// nothing does.
std::string obstacle(const Answer& answer, const Kind& kind, int width, int height);
// The same for the GPU that was asked last, since threads that have no context cannot ask; empty if
// none was. Any thread.
std::string known_obstacle(const Kind& kind, int width, int height);

}  // namespace torchdali::gpu::nvdec
