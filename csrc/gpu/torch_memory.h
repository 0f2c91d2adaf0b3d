// SPDX-License-Identifier: Apache-2.0
// Memory of torch's allocators as Storage, and its way back to them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "core/batch.h"
#include "gpu/stream.h"
#include "gpu/torch_c.h"

namespace torchdali::gpu {

// Memory that was allocated on one stream, was used on another, and is no longer needed. Torch
// would reuse it for the first stream at once, so it goes back to torch when the other one is done.
// That is what Tensor.record_stream() does, which the C interface lacks. Any thread.
class RetiredMemory {
 public:
  RetiredMemory(const Stream& allocated, const Stream& used) : allocated_(allocated), used_(used) {}
  ~RetiredMemory() { release_all(); }
  RetiredMemory(const RetiredMemory&) = delete;
  RetiredMemory& operator=(const RetiredMemory&) = delete;
  // Keeps memory until the work queued so far on the stream that uses it is done.
  void add(TorchTensor memory);
  void release_done();
  // Releases all memory; the stream that it was allocated on waits instead. Returns whether there
  // was any.
  bool release_all();

 private:
  using Kept = std::deque<std::pair<std::shared_ptr<Event>, TorchTensor>>;
  const Stream allocated_, used_;
  std::mutex mutex_;
  Kept kept_;  // in the order of the events
};

// New memory for the current stream. Null if torch cannot allocate it.
// `device`: number of the GPU; -1: memory of the host stands for any other.
Storage allocate_in_torch(MemoryKind kind, size_t size_bytes, int device);
// The functions below are for such memory.

// It goes through `retired` when nothing refers to it any more.
void retire_through(const Storage& storage, std::shared_ptr<RetiredMemory> retired);
// A tensor in torch's own storage, in which its allocators keep what streams use the memory.
TorchTensor tensor_of(const BatchTensor& tensor);
// Queues a copy on the current stream. One of both may be other memory of the host.
void copy_bytes(const Storage& to, const Storage& from, int64_t bytes);

}  // namespace torchdali::gpu
