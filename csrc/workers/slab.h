// SPDX-License-Identifier: Apache-2.0
// Slab: the samples of one batch of one external source, in shared memory. Workers write samples of
// equal size next to each other, so that the batch is one tensor; the parent reads them in place.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/layout.h"
#include "workers/shared_memory.h"

namespace torchdali::workers {

struct SampleRecord {
  uint64_t offset;
  DType dtype;
  int8_t ndim;
  int64_t shape[kMaxDims];
};

class Slab {
 public:
  // For `num_outputs` outputs of `max_samples` samples each, with room for `bytes` bytes of data.
  Slab(int num_outputs, int max_samples, size_t bytes);
  // The slab in a worker. Takes ownership of the descriptor.
  struct Descriptor {
    int fd;
  };
  Slab(Descriptor descriptor, int num_outputs, int max_samples);
  int fd() const { return memory_.fd(); }

  // Removes all samples. Called by the parent while no worker writes.
  void clear();
  // Frees the memory after the first `bytes`, if it is much. Called by the parent while the slab is
  // unused.
  void trim(size_t bytes);
  // Records that all allocated bytes are backed by memory, so that the next batch does not have to
  // request it again. Without effect if an allocation failed.
  void mark_written();
  // For batches whose size the source decides.
  void set_num_samples(int count) { header().num_samples = count; }
  int num_samples() const { return header().num_samples; }

  // Records that a sample could not be made, and why, in the form that the caller reads it.
  // As allocate(), any worker.
  void fail(int sample, std::span<const std::byte> why);
  bool has_failed(int sample) const { return failures()[sample].failed != 0; }
  std::span<const std::byte> failure(int sample) const { return bytes_at(failures()[sample].why); }

  // Allocates memory for one sample. Any worker, concurrently for different samples.
  std::byte* allocate(int output, int sample, DType dtype, std::span<const int64_t> shape);
  // Allocates memory whose offset the caller records; returns the offset.
  uint64_t allocate(uint64_t bytes);
  // Allocate and copy data there, with fewer page faults than if the caller did.
  void store(int output, int sample, DType dtype, std::span<const int64_t> shape, const void* from);
  uint64_t store(std::span<const std::byte> data);
  // A few bytes for the worker (written by the parent before it posts the job) and for the parent
  // (written by a worker before it finishes its task). Reads return the last one.
  enum Note { kRequest, kReply, kNotes };
  void write(Note note, std::span<const std::byte> bytes) { write(header().notes[note], bytes); }
  std::span<const std::byte> read(Note note) const { return bytes_at(header().notes[note]); }
  const SampleRecord& record(int output, int sample) const {
    return records()[output * max_samples_ + sample];
  }
  std::byte* data() const { return memory_.at(); }
  // Bytes that are in use, or known to be backed by memory.
  size_t size() const { return std::max<size_t>(header().size, header().top); }
  // Bytes that were allocated.
  size_t used() const { return header().top; }

 private:
  struct Output {
    // Bytes of a sample + 1, and the offset of the first one; set by the first worker.
    std::atomic<uint64_t> stride, base;
  };
  struct Bytes {
    std::atomic<uint64_t> offset, bytes;
  };
  struct Failure {
    std::atomic<int32_t> failed;
    Bytes why;
  };
  struct Header {
    std::atomic<uint64_t> top;   // first byte that was not allocated
    std::atomic<uint64_t> size;  // bytes that are known to be backed by memory
    std::atomic<int32_t> num_samples;
    std::atomic<int32_t> has_hole;  // bytes before `top` have no memory: an allocation failed
    Bytes notes[kNotes];
  };
  Header& header() const { return *memory_.at<Header>(); }
  Output* outputs() const { return memory_.at<Output>(sizeof(Header)); }
  Failure* failures() const {
    return memory_.at<Failure>(sizeof(Header) + num_outputs_ * sizeof(Output));
  }
  SampleRecord* records() const {
    return memory_.at<SampleRecord>(sizeof(Header) + num_outputs_ * sizeof(Output) +
                                    max_samples_ * sizeof(Failure));
  }
  size_t data_start() const;
  uint64_t take(uint64_t bytes);
  // The memory of a sample, which may have no pages yet.
  std::span<std::byte> place(int output, int sample, DType dtype, std::span<const int64_t> shape);
  template <class Do>
  uint64_t place(uint64_t bytes, const Do& back_or_fill);
  void back(uint64_t offset, uint64_t bytes);
  void map_pages();
  void fill(uint64_t offset, std::span<const std::byte> data);
  void write(Bytes& place, std::span<const std::byte> bytes);
  std::span<const std::byte> bytes_at(const Bytes& place) const {
    return {memory_.at(place.offset), place.bytes};
  }

  const int num_outputs_, max_samples_;
  SharedMemory memory_;
  const size_t initial_;  // initial size in bytes; trim() keeps at least these. 0 in a worker
  size_t mapped_ = 0;     // in a worker: bytes whose pages map_pages() has mapped
};

// Copies large data with stores that bypass the cache, since another process reads it later.
void copy_to_shared(std::byte* to, const void* from, size_t bytes);

}  // namespace torchdali::workers
