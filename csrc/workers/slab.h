// SPDX-License-Identifier: Apache-2.0
// Slab: the samples of one batch of one external source, in shared memory. Workers write them,
// samples of one size side by side so that the batch is one tensor; the parent reads them in place.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/layout.h"
#include "workers/segment.h"

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
  // The same one in a worker; takes the descriptor over.
  struct Descriptor {
    int fd;
  };
  Slab(Descriptor descriptor, int num_outputs, int max_samples);
  int fd() const { return segment_.fd(); }

  // Empty again. Parent, while no worker writes.
  void clear();
  // Gives memory behind the first `bytes` back to the system, where it is much. Parent, while
  // nobody uses the slab.
  void trim(size_t bytes);
  // Every byte that was given out has been written: the next batch need not ask for those again.
  void mark_written();
  // A batch whose size its source decides.
  void set_num_samples(int count) { header().num_samples = count; }
  int num_samples() const { return header().num_samples; }

  // Memory for one sample, which the caller fills. Any worker; different samples at the same time.
  std::byte* allocate(int output, int sample, DType dtype, std::span<const int64_t> shape);
  // Memory for data whose place the caller notes; returns its offset.
  uint64_t allocate(uint64_t bytes);
  // A few bytes for the worker (from the parent, before the job is posted) and for the parent (from
  // a worker, before it finishes its task). The last one written is read.
  enum Note { kRequest, kReply, kNotes };
  void write(Note note, std::span<const std::byte> bytes);
  std::span<const std::byte> read(Note note) const;
  const SampleRecord& record(int output, int sample) const {
    return records()[output * max_samples_ + sample];
  }
  std::byte* data() const { return segment_.at(); }
  // Bytes of the segment in use, or known to be backed by memory.
  size_t size() const { return std::max<size_t>(header().size, header().top); }
  // Bytes that are given out.
  size_t used() const { return header().top; }

 private:
  struct Output {
    // Bytes of a sample + 1 and where the first one lies, set by the worker that comes first.
    std::atomic<uint64_t> stride, base;
  };
  struct Header {
    std::atomic<uint64_t> top;   // first byte that is not given out
    std::atomic<uint64_t> size;  // of the segment, as far as it is backed by memory
    std::atomic<int32_t> num_samples;
    struct {
      std::atomic<uint64_t> offset, bytes;
    } notes[kNotes];
  };
  Header& header() const { return *segment_.at<Header>(); }
  Output* outputs() const { return segment_.at<Output>(sizeof(Header)); }
  SampleRecord* records() const {
    return segment_.at<SampleRecord>(sizeof(Header) + num_outputs_ * sizeof(Output));
  }
  size_t data_start() const;
  uint64_t take(uint64_t bytes);
  void back(uint64_t offset, uint64_t bytes);

  const int num_outputs_, max_samples_;
  Segment segment_;
  const size_t initial_;  // bytes of the segment at first; no less is kept
};

// Copies past the cache where that pays: the reader is another process, later.
void copy_to_shared(std::byte* to, const void* from, size_t bytes);

}  // namespace torchdali::workers
