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

#include "core/memory/storage.h"
#include "gpu/launch.h"
#include "gpu/stream.h"

namespace torchdali::gpu {

class RetiredMemory;  // gpu/torch_memory.h

struct DeviceOptions {
  int index = 0;
  void *kernel_stream = nullptr, *copy_stream = nullptr;  // each a cudaStream_t
  std::string library;                                    // path of _cuda.so
  bool emulated = false;
};

// One thread at a time queues work, since the stages that do so are ordered.
class Device final : public DeviceMemory {
 public:
  explicit Device(const DeviceOptions& options);
  // For tests: a device that `library` and `current` simulate.
  Device(const DeviceOptions& options, const KernelLibrary& library, const CurrentStream& current);

  // While it exists, the kernels' stream is the calling thread's current one.
  class Scope {
   public:
    explicit Scope(const Device& device) : guard_(device.kernels_.make_current()) {}

   private:
    std::shared_ptr<void> guard_;
  };

  Storage allocate(MemoryKind kind, size_t size_bytes) const override;
  // The number of the GPU; -1 if it is emulated.
  int index() const { return index_; }
  void* stream() const { return kernels_.handle(); }
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
    const auto guard = copies_.make_current();
    fn();
  }
  // Kernels queued from now on wait for the copies queued before, and use the memory that was
  // copied to.
  void join_copies(std::span<const Storage> copied) const;
  // Copies results of the kernels queued before; returns when the copy is complete.
  void copy_to_host(const Storage& to, const Storage& from, int64_t bytes) const;

  // Waits until the kernels' stream is idle.
  void synchronize() const { mark()->synchronize(); }
  // An event on the kernels' stream.
  std::shared_ptr<Event> mark() const { return kernels_.mark(); }
  // Makes the calling thread's current stream wait for `mark`.
  void hand_over(const Event& mark) const;

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

  const int index_;
  const KernelLibrary& library_;
  const Stream kernels_, copies_;
  // Memory that copies have gone to. Shared with it.
  const std::shared_ptr<RetiredMemory> retired_;
  std::unordered_map<std::string_view, const KernelEntry*> kernels_by_name_;
};

}  // namespace torchdali::gpu
