// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "io/audio/audio_file.h"

namespace torchdali::io {

// Frames of a file, in memory of the exact size, so that sanitizers see writes beyond it.
template <class T>
std::vector<T> read_frames(AudioReader& reader, int64_t begin, int64_t frames) {
  std::vector<T> out(static_cast<size_t>(frames * reader.info().channels));
  reader.seek(begin);
  reader.read(out.data(), frames);
  return out;
}

}  // namespace torchdali::io
