// SPDX-License-Identifier: Apache-2.0
// The call of a user's function that a thread is in.
#pragma once

#include <cstdint>

namespace torchdali {

// The sample of the function call on this thread, for torchdali.current_sample().
struct CurrentSample {
  bool valid = false;
  uint64_t seed = 0, id = 0;
  int index = 0;
};
inline thread_local CurrentSample current_sample;

class CurrentSampleScope {
 public:
  CurrentSampleScope(uint64_t seed, uint64_t id, int index) : before_(current_sample) {
    current_sample = {.valid = true, .seed = seed, .id = id, .index = index};
  }
  ~CurrentSampleScope() { current_sample = before_; }
  CurrentSampleScope(const CurrentSampleScope&) = delete;
  CurrentSampleScope& operator=(const CurrentSampleScope&) = delete;

 private:
  CurrentSample before_;
};

// The CUDA stream of the function call on this thread; null on the CPU.
inline thread_local void* current_stream = nullptr;

class CurrentStreamScope {
 public:
  explicit CurrentStreamScope(void* stream) : before_(current_stream) { current_stream = stream; }
  ~CurrentStreamScope() { current_stream = before_; }
  CurrentStreamScope(const CurrentStreamScope&) = delete;
  CurrentStreamScope& operator=(const CurrentStreamScope&) = delete;

 private:
  void* before_;
};

}  // namespace torchdali
