// SPDX-License-Identifier: Apache-2.0
// Native FLAC files, with or without an ID3v2 tag before them. Written from RFC 9639 ("Free
// Lossless Audio Codec"). FLAC in Ogg is left to libsndfile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "io/audio/audio_file.h"

namespace torchdali::io {

struct FlacHeader {
  int channels = 0;
  int bits = 0;  // of a sample
  int64_t rate = 0;
  int64_t frames = 0;  // samples of each channel that the header claims; 0: unknown
  int64_t min_block = 0, max_block = 0;
  size_t data = 0;                      // where the first frame begins
  std::span<const uint8_t> seek_table;  // 18 bytes a point
};

bool is_flac(std::span<const uint8_t> bytes);

// The metadata of a file that is_flac(). Raises kData if it is broken.
FlacHeader read_flac_header(std::span<const uint8_t> bytes);

// Raises kData if the header claims what a file of this length cannot contain.
std::unique_ptr<AudioReader> open_flac(std::span<const uint8_t> bytes);

}  // namespace torchdali::io
