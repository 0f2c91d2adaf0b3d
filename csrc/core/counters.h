// SPDX-License-Identifier: Apache-2.0
// Counters with one writer and any number of readers, and the clock for them, which is that of
// Python's time.perf_counter_ns(). An update is a load, an addition and a store, without a locked
// instruction.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace torchdali {

inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Counter {
 public:
  void add(int64_t n) { value_.store(get() + n, std::memory_order_relaxed); }
  int64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

class Maximum {
 public:
  void raise(int64_t n) {
    if (n > get()) value_.store(n, std::memory_order_relaxed);
  }
  int64_t get() const { return value_.load(std::memory_order_relaxed); }
  // Starts over. Any thread.
  void reset() { value_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

}  // namespace torchdali
