// SPDX-License-Identifier: Apache-2.0
#include "io/audio/audio_file.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "io/audio/flac.h"
#include "io/audio/sndfile.h"
#include "io/audio/wav.h"
#include "kernels/audio/pcm.h"

namespace torchdali::io {

void AudioReader::read_mono(float* out, int64_t frames) {
  if (info_.channels == 1) return read(out, frames);
  constexpr int64_t kBlock = 4096;  // values; files have at most 1024 channels
  alignas(64) std::array<float, kBlock> block;
  const int64_t step = kBlock / info_.channels;
  for (int64_t i = 0; i < frames; i += step) {
    const int64_t count = std::min(step, frames - i);
    read(block.data(), count);
    kernels::mix_channels(block.data(), info_.channels, out + i, count);
  }
}

std::unique_ptr<AudioReader> open_audio(std::span<const uint8_t> bytes) {
  TORCHDALI_CHECK_KIND(kData, !bytes.empty(), "the file is empty (0 bytes), not audio");
  if (is_wav(bytes))
    if (const auto header = read_wav_header(bytes)) return open_wav(bytes, *header);
  if (is_flac(bytes)) return open_flac(bytes);
  return open_with_sndfile(bytes);
}

}  // namespace torchdali::io
