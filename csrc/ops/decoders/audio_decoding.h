// SPDX-License-Identifier: Apache-2.0
// Decoding of a part of an audio file, to samples or to a signal that is read in order: what
// operators that decode audio have in common.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "core/audio/audio_part.h"
#include "core/operator.h"

namespace torchdali {

// The arguments `downmix`, `dtype`, `quality` and `antialias`.
void audio_decoding_args(SchemaBuilder& schema);

// What is decoded of a file, and the sample rate of the result; 0 keeps that of the file.
struct AudioPart {
  double start = 0, duration = std::numeric_limits<double>::infinity();  // in seconds
  double sample_rate = 0;
  // As in DALI's reader of manifests: the fraction of a frame is cut off instead of rounded, and
  // `start` is called "offset".
  bool from_manifest = false;
};

// Sample rates of a file and of what was made of it.
struct AudioRates {
  double file, result;
};

class AudioDecoding {
 public:
  explicit AudioDecoding(const OpSpec& spec);
  // Makes output `output` of the part: [frames, channels], or [frames] with `downmix`. Raises
  // errors as io::open_audio().
  AudioRates decode(SampleContext& ctx, int output, std::span<const uint8_t> file,
                    const AudioPart& part) const;
  // The same as a signal that is decoded as it is read; null unless it is float32, of one channel.
  // `file` outlives it.
  std::unique_ptr<SignalReader> open_signal(std::span<const uint8_t> file,
                                            const AudioPart& part) const;

 private:
  bool downmix_;
  DType dtype_;
  double quality_;
  bool antialias_;
};

}  // namespace torchdali
