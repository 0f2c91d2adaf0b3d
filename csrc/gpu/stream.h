// SPDX-License-Identifier: Apache-2.0
// Streams of a GPU, and events on them.
#pragma once

#include <memory>

#include "gpu/library.h"
#include "gpu/torch_c.h"

namespace torchdali::gpu {

// A point of a stream: the work queued before it. Any thread.
class Event {
 public:
  Event(const KernelLibrary& library, void* event) : library_(library), event_(event) {}
  ~Event() { library_.events.destroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  // Waits until the work is done. Raises kRuntime if the GPU has failed.
  void synchronize() const;
  // Whether the work is done; true also if the GPU has failed.
  bool is_done() const { return !library_.events.is_pending(event_); }

 private:
  friend class Stream;
  const KernelLibrary& library_;
  void* const event_;
};

// A reference to a stream. Functions raise kRuntime if the GPU has failed. Any thread.
class Stream {
 public:
  // `device` is the number of the GPU, `handle` a cudaStream_t.
  Stream(const KernelLibrary& library, const CurrentStream& current, int device, void* handle)
      : library_(&library), current_(&current), device_(device), handle_(handle) {}
  // The calling thread's current stream on this one's GPU.
  Stream current() const;
  void* handle() const { return handle_; }
  // Makes this stream and its GPU the calling thread's current ones while the result is held.
  std::shared_ptr<void> make_current() const;
  std::shared_ptr<Event> mark() const;
  // Work that is queued from now on waits for the event.
  void wait_for(const Event& event) const;

 private:
  const KernelLibrary* library_;
  const CurrentStream* current_;
  int device_;
  void* handle_;
};

}  // namespace torchdali::gpu
