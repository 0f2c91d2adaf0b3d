// SPDX-License-Identifier: Apache-2.0
// Device: the GPU of one pipeline, with its streams, its memory (torch's) and its kernels; or their
// emulation on the host: docs/design/gpu.md.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/launch.h"

namespace torchdali::gpu {

struct DeviceOptions {
  int index = 0;
  // Torch's streams, and the first one as a cudaStream_t.
  int64_t kernel_stream = 0, copy_stream = 0;
  void* stream_handle = nullptr;
  std::string library;  // path of _cuda.so
  bool emulated = false;
};

// One thread at a time queues work, since the stages that do so are ordered.
class Device {
 public:
  explicit Device(const DeviceOptions& options);

  // While it exists, the kernels' stream is the calling thread's current one.
  class Scope {
   public:
    explicit Scope(Device& device) {
      if (!device.emulated_) guard_.emplace(device.kernel_stream());
    }

   private:
    std::optional<c10::StreamGuard> guard_;
  };

  c10::Device torch_device() const { return device_; }
  void* stream() const { return stream_handle_; }
  // Copies bytes to device memory that kernels queued from now on may read. It may be released as
  // soon as they are queued.
  at::Tensor upload(std::span<const std::byte> bytes) const { return upload({&bytes, 1}); }
  // Memory of the kernels' stream. It may be released as soon as the last kernel that uses it is
  // queued.
  std::shared_ptr<void> workspace(int64_t bytes) const;
  // Queues a copy from pinned memory on the stream for copies. Kernels queued after join_copies()
  // see it.
  void copy_to_device(const c10::Storage& to, const c10::Storage& from, int64_t bytes) const;
  // Calls fn() with the stream for copies as the current one.
  template <class Fn>
  void on_copy_stream(Fn&& fn) const {
    std::optional<c10::StreamGuard> guard;
    if (!emulated_) guard.emplace(copy_stream());
    fn();
  }
  // Kernels queued from now on wait for the copies queued before, and use the memory that was
  // copied to.
  void join_copies(std::span<const c10::Storage> copied) const;
  // Copies results of the kernels queued before; returns when the copy is complete.
  void copy_to_host(const c10::Storage& to, const c10::Storage& from, int64_t bytes) const;

  // Tells torch that the kernels' stream uses memory that was allocated on another stream.
  void use_on_kernels(const c10::Storage& storage) const;
  // Waits until the kernels' stream is idle.
  void synchronize() const {
    if (const auto done = mark()) done->synchronize();
  }
  // An event on the kernels' stream. Null if there is nothing to wait for.
  std::shared_ptr<c10::Event> mark() const;
  // Makes the calling thread's current stream wait for `mark` and use `used` from now on.
  void hand_over(const c10::Event& mark, std::span<const c10::Storage> used) const;

 private:
  friend void queue_kernels(const Device& device, std::span<const KernelLaunch> launches,
                            std::span<const std::byte> blob);
  // Several parts, each of which begins at a multiple of kUploadAlign.
  static constexpr size_t kUploadAlign = 64;
  static size_t aligned(size_t bytes) {
    return (bytes + kUploadAlign - 1) / kUploadAlign * kUploadAlign;
  }
  at::Tensor upload(std::span<const std::span<const std::byte>> parts) const;
  LaunchFn find(KernelId kernel) const;

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
  const KernelLibrary& library_;
  std::unordered_map<std::string_view, const KernelEntry*> kernels_;
};

}  // namespace torchdali::gpu
