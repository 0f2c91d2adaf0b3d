// SPDX-License-Identifier: Apache-2.0
// WAV files: RIFF, and RF64 or BW64 for more than 4 GiB, with PCM or floats. Sources of the format:
// Microsoft's "Multiple Channel Audio Data and WAVE Files", EBU Tech 3306 (RF64) and ITU-R BS.2088
// (BW64).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "io/audio/audio_file.h"
#include "kernels/audio/pcm.h"

namespace torchdali::io {

struct WavHeader {
  kernels::PcmType type = kernels::PcmType::kInt16;
  int channels = 0;
  int64_t rate = 0;
  int64_t frames = 0;  // complete ones that are in the file
  size_t data = 0;     // where they begin
  int frame_bytes() const { return channels * kernels::pcm_bytes(type); }
};

bool is_wav(std::span<const uint8_t> bytes);

// The header of a file that is_wav(). None if its samples are neither PCM nor floats. Raises kData
// if it is broken. A file with less data than its header claims, or with an unknown size (as
// writers to a pipe leave it), is as long as its data.
std::optional<WavHeader> read_wav_header(std::span<const uint8_t> bytes);

std::unique_ptr<AudioReader> open_wav(std::span<const uint8_t> bytes, const WavHeader& header);

}  // namespace torchdali::io
