// SPDX-License-Identifier: Apache-2.0
// Device: the GPU of one pipeline. Its streams, its memory (torch's) and its kernels. Emulated on
// the host for tests: docs/design/gpu.md.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/gpu/tasks.h"

namespace torchdali::gpu {

struct DeviceOptions {
  int index = 0;
  // Torch's streams, and the first one as a cudaStream_t.
  int64_t kernel_stream = 0, copy_stream = 0;
  void* stream_handle = nullptr;
  std::string library;  // path of _cuda.so
  bool emulated = false;
};

// One thread at a time queues work: stages that do so are ordered.
class Device {
 public:
  explicit Device(const DeviceOptions& options);

  // While it lives, what the calling thread asks of torch happens on the kernels' stream.
  class Scope {
   public:
    explicit Scope(Device& device) {
      if (!device.emulated_) guard_.emplace(device.kernel_stream());
    }

   private:
    std::optional<c10::StreamGuard> guard_;
  };

  c10::Device torch_device() const { return device_; }
  const GpuKernels& kernels() const { return *kernels_; }
  void* stream() const { return stream_handle_; }
  // Raises where a kernel could not be queued, or one before it failed.
  void check(int error, const char* what) const;

  // A copy of two lists of bytes, the second from second_at(first.size()) on, ready for what is
  // queued next. Let it go when that is queued.
  at::Tensor upload(std::span<const std::byte> first, std::span<const std::byte> second = {}) const;
  static size_t second_at(size_t first) { return (first + 63) / 64 * 64; }
  // Memory of the kernels' stream. Let it go when the last kernel that uses it is queued.
  std::shared_ptr<void> workspace(int64_t bytes) const;
  // Queues a copy from pinned memory, on the stream for copies. Kernels queued after ready() see
  // it.
  void copy_to_device(const c10::Storage& to, const c10::Storage& from, int64_t bytes) const;
  // `allocate` makes the memory that is copied to.
  template <class Fn>
  void on_copy_stream(Fn&& fn) const {
    std::optional<c10::StreamGuard> guard;
    if (!emulated_) guard.emplace(copy_stream());
    fn();
  }
  // Kernels queued from now on wait for the copies queued before, and use what they copied to.
  void join_copies(std::span<const c10::Storage> copied) const;
  // Copies what kernels queued before have made; returns when it is there.
  void copy_to_host(const c10::Storage& to, const c10::Storage& from, int64_t bytes) const;

  // The kernels' stream uses memory of torch's that was made on another one.
  void use_on_kernels(const c10::Storage& storage) const;
  // Waits for what the kernels' stream has in hand.
  void synchronize() const {
    if (const auto done = mark()) done->synchronize();
  }
  // A point of the kernels' stream. Null where there is nothing to wait for.
  std::shared_ptr<c10::Event> mark() const;
  // The calling thread's current stream waits for `mark`; `used` is used on it from now on.
  void hand_over(const c10::Event& mark, std::span<const c10::Storage> used) const;

 private:
  c10::Stream kernel_stream() const {
    return c10::Stream(c10::Stream::UNSAFE, device_, kernel_stream_);
  }
  c10::Stream copy_stream() const {
    return c10::Stream(c10::Stream::UNSAFE, device_, copy_stream_);
  }
  const bool emulated_;
  const c10::Device device_;
  const c10::StreamId kernel_stream_, copy_stream_;
  void* const stream_handle_;
  const GpuKernels* kernels_ = nullptr;
};

// Queues these copies.
void queue_copies(const Device& device, std::span<const CopyTask> tasks);

}  // namespace torchdali::gpu
