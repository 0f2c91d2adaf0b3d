// SPDX-License-Identifier: Apache-2.0
// Device: the GPU of one pipeline, with its streams, its memory (torch's) and its kernels; or their
// emulation on the host: docs/design/gpu.md.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/storage.h"
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

// A point of a stream.
class Event {
 public:
  Event() = default;
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  // Waits until the work queued before is done.
  virtual void synchronize() const = 0;
  // Whether it is done.
  virtual bool is_done() const = 0;
};

// One thread at a time queues work, since the stages that do so are ordered.
class Device final : public DeviceMemory {
 public:
  explicit Device(const DeviceOptions& options);

  // While it exists, the kernels' stream is the calling thread's current one.
  class Scope {
   public:
    explicit Scope(const Device& device) : guard_(device.make_current(device.kernel_stream_)) {}

   private:
    std::shared_ptr<void> guard_;
  };

  Storage allocate(MemoryKind kind, size_t size_bytes) const override;
  // The number of the GPU; -1 if it is emulated.
  int index() const { return index_; }
  void* stream() const { return stream_handle_; }
  // Copies bytes to device memory that kernels queued from now on may read. It may be released as
  // soon as they are queued.
  Storage upload(std::span<const std::byte> bytes) const { return upload({&bytes, 1}); }
  // Memory of the kernels' stream. It may be released as soon as the last kernel that uses it is
  // queued.
  std::shared_ptr<void> workspace(int64_t bytes) const;
  // Queues a copy from pinned memory on the current stream. Kernels queued after join_copies() see
  // one on the stream for copies.
  void copy_to_device(const Storage& to, const Storage& from, int64_t bytes) const;
  // Calls fn() with the stream for copies as the current one.
  template <class Fn>
  void on_copy_stream(Fn&& fn) const {
    const auto guard = make_current(copy_stream_);
    fn();
  }
  // Kernels queued from now on wait for the copies queued before, and use the memory that was
  // copied to.
  void join_copies(std::span<const Storage> copied) const;
  // Copies results of the kernels queued before; returns when the copy is complete.
  void copy_to_host(const Storage& to, const Storage& from, int64_t bytes) const;

  // Tells torch that the kernels' stream uses memory that was allocated on another stream.
  void use_on_kernels(const Storage& storage) const;
  // Waits until the kernels' stream is idle.
  void synchronize() const {
    if (const auto done = mark()) done->synchronize();
  }
  // An event on the kernels' stream. Null if there is nothing to wait for.
  std::shared_ptr<Event> mark() const;
  // Makes the calling thread's current stream wait for `mark` and use `used` from now on.
  void hand_over(const Event& mark, std::span<const Storage> used) const;

 private:
  friend void queue_kernels(const Device& device, std::span<const KernelLaunch> launches,
                            std::span<const std::byte> blob);
  // Several parts, each of which begins at a multiple of kUploadAlign.
  static constexpr size_t kUploadAlign = 64;
  static size_t aligned(size_t bytes) {
    return (bytes + kUploadAlign - 1) / kUploadAlign * kUploadAlign;
  }
  Storage upload(std::span<const std::span<const std::byte>> parts) const;
  LaunchFn find(KernelId kernel) const;

  // Makes one of torch's streams the calling thread's current one while the result is held.
  std::shared_ptr<void> make_current(int64_t stream) const;
  bool is_emulated() const { return index_ < 0; }
  const int index_;
  const int64_t kernel_stream_, copy_stream_;  // torch's numbers
  void* const stream_handle_;
  const KernelLibrary& library_;
  std::unordered_map<std::string_view, const KernelEntry*> kernels_;
};

}  // namespace torchdali::gpu
