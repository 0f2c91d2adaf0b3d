// SPDX-License-Identifier: Apache-2.0
// StoragePool: the storages of one output, reused from iteration to iteration.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/memory/storage.h"

namespace torchdali {

// A storage is reused only if nothing else references it, so tensors that the user keeps never
// change. Memory of a device is not pooled here: torch's allocators do that, and know which streams
// still use it. Any thread.
class StoragePool {
 public:
  // Keeps up to `few` storages. `keeps_more`: and those that were needed lately because the user
  // kept many batches, if they are large. `device` is used for other kinds of memory than kHost.
  explicit StoragePool(size_t few, bool keeps_more = false, MemoryKind kind = MemoryKind::kHost,
                       const DeviceMemory* device = nullptr)
      : few_(few), keeps_more_(keeps_more), kind_(kind), device_(device) {}
  Storage acquire(size_t size_bytes);
  void release_unused();
  size_t num_kept() const { return kept_.size(); }  // for tests
  MemoryKind memory_kind() const { return kind_; }
  // Whether the last batch was ragged. Then the next does not try one allocation for all samples.
  std::atomic<bool> expect_ragged{false};
  // Size of the largest ragged batch, which the next one allocates in few blocks.
  std::atomic<int64_t> expected_bytes{0};

 private:
  struct Kept {
    Storage storage;
    uint64_t idle_since;  // acquired_ when it was seen to be unused; 0: it was in use
  };
  void drop_idle();
  static constexpr uint64_t kIdle = 128;    // batches; more than loops that collect batches keep
  static constexpr uint64_t kCheck = 16;    // batches
  static constexpr size_t kMostKept = 256;  // each acquisition may look at all of them
  const size_t few_;
  const bool keeps_more_;
  const MemoryKind kind_;
  const DeviceMemory* const device_;
  std::mutex mutex_;
  std::vector<Kept> kept_;  // the first one that fits is taken
  uint64_t acquired_ = 0;
};

}  // namespace torchdali
