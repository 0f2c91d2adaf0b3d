// SPDX-License-Identifier: Apache-2.0
// Files that libsndfile decodes: Ogg Vorbis, Opus, MP3, AIFF and others. The library is
// loaded when the first one is opened.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/audio/audio_file.h"

namespace torchdali::io {

// As open_audio(). Raises kUnsupported if the library is not found.
std::unique_ptr<AudioReader> open_with_sndfile(std::span<const uint8_t> bytes);

// Where a Python package has the library; "" if there is none. Searched are the file that
// TORCHDALI_SNDFILE_LIBRARY names or else this one and those of the system. Before the first use.
void set_sndfile_path(std::string path);
// "libsndfile-1.2.2", or "" if it is not found.
std::string sndfile_version();

}  // namespace torchdali::io
