// SPDX-License-Identifier: Apache-2.0
// The frames of MP3 files (MPEG-1, 2 and 2.5, layer III). Written from ISO/IEC 11172-3 and 13818-3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace torchdali::io {

// A file that begins with a frame that says how many follow.
struct CountedMp3 {
  std::vector<uint8_t> first;
  std::span<const uint8_t> rest;
};

// An MP3 file that does not say its length, such as one written to a pipe, with its frames counted.
// None if the file does say it, or is not understood.
std::optional<CountedMp3> count_mp3_frames(std::span<const uint8_t> bytes);

}  // namespace torchdali::io
