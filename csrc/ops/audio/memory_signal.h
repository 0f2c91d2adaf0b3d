// SPDX-License-Identifier: Apache-2.0
// A signal that is in memory.
#pragma once

#include <cstring>

#include "core/audio/audio_part.h"

namespace torchdali {

class MemorySignal final : public SignalReader {
 public:
  MemorySignal(const float* samples, int64_t length) : SignalReader(length), next_(samples) {}
  void read(float* out, int64_t count) override {
    if (count > 0) std::memcpy(out, next_, static_cast<size_t>(count) * sizeof(float));
    next_ += count;
  }

 private:
  const float* next_;
};

}  // namespace torchdali
