// SPDX-License-Identifier: Apache-2.0
// Memory statistics: the size of the values of a plan, and the memory reserved for them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace torchdali {

inline void raise_to(std::atomic<int64_t>& greatest, int64_t value) {
  int64_t seen = greatest.load(std::memory_order_relaxed);
  while (seen < value && !greatest.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// One value in one iteration. Workers add samples concurrently.
struct IterationMemory {
  std::atomic<int64_t> total{0}, largest{0};

  void add(int64_t bytes) {
    total.fetch_add(bytes, std::memory_order_relaxed);
    raise_to(largest, bytes);
  }
};

// One value: the maximum, in bytes, over the iterations that were taken.
struct OutputMemory {
  int64_t real = 0, max_real = 0;          // all samples of a batch; one sample
  int64_t reserved = 0, max_reserved = 0;  // the memory of the same

  void raise_real(int64_t total, int64_t largest) {
    real = std::max(real, total);
    max_real = std::max(max_real, largest);
  }
  void raise_reserved(int64_t total, int64_t largest) {
    reserved = std::max(reserved, total);
    max_reserved = std::max(max_reserved, largest);
  }
};

struct OperatorMemory {
  std::string name;
  std::vector<OutputMemory> outputs;
};

}  // namespace torchdali
