// SPDX-License-Identifier: Apache-2.0
// Storage: a block of memory that batches and tensors share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace torchdali {

enum class MemoryKind : int8_t {
  kHost,
  kPinned,  // host memory that the device copies from without the CPU
  kDevice,  // allocated for the stream of the kernels; never accessed by the host
};

class Storage {
 public:
  Storage() = default;
  // Memory that `owner` keeps.
  Storage(void* data, size_t size_bytes, MemoryKind kind, std::shared_ptr<const void> owner)
      : block_(std::make_shared<const Block>(Block{data, size_bytes, kind, std::move(owner)})) {}
  // New memory of the host. Raises kRuntime if there is not enough.
  static Storage on_host(size_t size_bytes);

  explicit operator bool() const { return block_ != nullptr; }
  void* data() const { return block_->data; }
  size_t size_bytes() const { return block_->size_bytes; }
  MemoryKind kind() const { return block_->kind; }
  const std::shared_ptr<const void>& owner() const { return block_->owner; }
  // Whether nothing else refers to the memory. What others wrote to it before is visible then.
  bool is_unshared() const {
    if (block_.use_count() != 1) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
  }
  // Keeps the memory while it is held.
  std::shared_ptr<const void> block() const { return block_; }
  bool is_alias_of(const Storage& other) const { return block_ == other.block_; }

 private:
  struct Block {
    void* data;
    size_t size_bytes;
    MemoryKind kind;
    std::shared_ptr<const void> owner;
  };
  std::shared_ptr<const Block> block_;
};

// Allocates the other kinds of memory: the device of a pipeline.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  // Raises kRuntime if there is not enough.
  virtual Storage allocate(MemoryKind kind, size_t size_bytes) const = 0;
};

}  // namespace torchdali
