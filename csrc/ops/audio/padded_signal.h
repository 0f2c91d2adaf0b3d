// SPDX-License-Identifier: Apache-2.0
// A signal with what pads it before its first and after its last sample.
#pragma once

#include <span>

#include "core/audio/audio_part.h"

namespace torchdali {

// Read in order, from `before` samples before the signal on. These and the `after` samples after it
// are its mirror image, or zeros; then it goes on with zeros. One worker thread.
class PaddedSignal {
 public:
  PaddedSignal(SampleContext& ctx, SignalReader& in, int64_t before, int64_t after, bool reflects);
  void read(float* out, int64_t count);
  void skip(int64_t count);

 private:
  // Reads up to `count` samples that have the same origin, and returns how many.
  int64_t read_some(float* out, int64_t count);
  void read_signal(float* out, int64_t count);

  SignalReader& in_;
  const int64_t length_, after_;
  const bool reflects_;
  int64_t position_;       // of the next sample
  std::span<float> head_;  // the first samples of the signal
  std::span<float> tail_;  // the latest samples that were read of it
};

}  // namespace torchdali
