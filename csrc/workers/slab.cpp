// SPDX-License-Identifier: Apache-2.0
#include "workers/slab.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/memory/stream_copy.h"

namespace torchdali::workers {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 64;
constexpr size_t kManyBytes = 4 * kPage;
constexpr size_t kLimit = size_t{1} << 34;  // address space of a slab

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

void check_size(uint64_t bytes) {
  TORCHDALI_CHECK_KIND(kRuntime, bytes <= kLimit, "shared memory: ", bytes,
                       " bytes exceed the limit of a batch (", kLimit, ")");
}

}  // namespace

size_t Slab::data_start() const {
  return round_up(sizeof(Header) + num_outputs_ * sizeof(Output) + max_samples_ * sizeof(Failure) +
                      sizeof(SampleRecord) * num_outputs_ * max_samples_,
                  kPage);
}

Slab::Slab(int num_outputs, int max_samples, size_t bytes)
    : num_outputs_(num_outputs),
      max_samples_(max_samples),
      memory_(round_up(data_start() + bytes, kPage), kLimit),
      initial_(round_up(data_start() + bytes, kPage)) {
  header().size = round_up(data_start() + bytes, kPage);
  clear();
}

Slab::Slab(Descriptor descriptor, int num_outputs, int max_samples)
    : num_outputs_(num_outputs),
      max_samples_(max_samples),
      memory_(descriptor.fd, data_start(), kLimit),
      initial_(0) {}

void Slab::mark_written() {
  if (header().has_hole == 0) header().size = size();
}

void Slab::clear() {
  Header& h = header();
  h.top = data_start();
  h.num_samples = max_samples_;
  h.has_hole = 0;
  for (int i = 0; i < num_outputs_; ++i) {
    outputs()[i].base = 0;
    outputs()[i].stride = 0;
  }
  for (Bytes& note : h.notes) note.bytes = 0;
  for (int i = 0; i < max_samples_; ++i) failures()[i].failed = 0;
}

void Slab::trim(size_t bytes) {
  constexpr size_t kSlack = size_t{1} << 16;  // less is not worth the system calls
  const size_t keep = std::max(initial_, round_up(bytes, kPage));
  if (memory_.backed() <= 2 * keep + kSlack) return;
  clear();
  if (header().size > keep) header().size = keep;
  memory_.release(keep);
}

uint64_t Slab::take(uint64_t bytes) { return header().top.fetch_add(round_up(bytes, kAlignment)); }

// Backs only what is about to be written, so that all workers share the page faults of a new batch.
void Slab::back(uint64_t offset, uint64_t bytes) {
  if (offset + bytes <= header().size) return map_pages();
  try {
    memory_.back(offset, bytes);
  } catch (...) {
    header().has_hole = 1;
    throw;
  }
  if (bytes >= kManyBytes) memory_.map_pages(offset, bytes, true);
}

// Maps memory that has been written before, mostly by other workers, when this worker needs it for
// the first time. One page fault for each page takes ten times as long.
void Slab::map_pages() {
  const size_t size = header().size;
  if (initial_ > 0 || size == mapped_) return;
  if (size > mapped_ + kManyBytes) memory_.map_pages(mapped_, size - mapped_, false);
  mapped_ = size;
}

void Slab::fill(uint64_t offset, std::span<const std::byte> data) {
  if (offset + data.size() <= header().size) {
    map_pages();
    copy_to_shared(memory_.at(offset), data.data(), data.size());
    return;
  }
  try {
    memory_.write(offset, data.data(), data.size());
  } catch (...) {
    header().has_hole = 1;
    throw;
  }
}

std::byte* Slab::allocate(int output, int sample, DType dtype, std::span<const int64_t> shape) {
  const std::span<std::byte> to = place(output, sample, dtype, shape);
  back(static_cast<uint64_t>(to.data() - data()), to.size());
  return to.data();
}

void Slab::store(int output, int sample, DType dtype, std::span<const int64_t> shape,
                 const void* from) {
  const std::span<std::byte> to = place(output, sample, dtype, shape);
  fill(static_cast<uint64_t>(to.data() - data()), {static_cast<const std::byte*>(from), to.size()});
}

std::span<std::byte> Slab::place(int output, int sample, DType dtype,
                                 std::span<const int64_t> shape) {
  TORCHDALI_ASSERT(output >= 0 && output < num_outputs_ && sample >= 0 && sample < max_samples_,
                   "sample ", sample, " of output ", output);
  uint64_t bytes = itemsize(dtype);
  for (int64_t extent : shape) bytes *= extent;
  check_size(bytes);  // the size of the batch does not overflow then
  Output& o = outputs()[output];
  uint64_t stride = 0;
  if (o.stride.compare_exchange_strong(stride, bytes + 1)) {
    stride = bytes + 1;
    o.base = take(bytes * num_samples());
  }
  SampleRecord& record = records()[output * max_samples_ + sample];
  if (stride == bytes + 1) {
    while (o.base == 0) sched_yield();  // the first worker is about to set it
    record.offset = o.base + bytes * sample;
  } else {
    record.offset = take(bytes);
  }
  record.dtype = dtype;
  record.ndim = static_cast<int8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), record.shape);
  return {memory_.at(record.offset), bytes};
}

uint64_t Slab::allocate(uint64_t bytes) {
  return place(bytes, [&](uint64_t offset) { back(offset, bytes); });
}

uint64_t Slab::store(std::span<const std::byte> data) {
  return place(data.size(), [&](uint64_t offset) { fill(offset, data); });
}

template <class Do>
uint64_t Slab::place(uint64_t bytes, const Do& back_or_fill) {
  check_size(bytes);
  const uint64_t offset = take(bytes);
  try {
    back_or_fill(offset);
  } catch (...) {
    // Something smaller may fit, such as the text of this error.
    uint64_t end = offset + round_up(bytes, kAlignment);
    header().top.compare_exchange_strong(end, offset);
    throw;
  }
  return offset;
}

void Slab::fail(int sample, std::span<const std::byte> why) {
  TORCHDALI_ASSERT(sample >= 0 && sample < max_samples_, "sample ", sample);
  Failure& failure = failures()[sample];
  write(failure.why, why);
  failure.failed = 1;
}

void Slab::write(Bytes& place, std::span<const std::byte> bytes) {
  place.offset = allocate(bytes.size());
  std::copy(bytes.begin(), bytes.end(), memory_.at(place.offset));
  place.bytes = bytes.size();
}

void copy_to_shared(std::byte* to, const void* from, size_t bytes) {
  constexpr size_t kStream = size_t{1} << 16;
  if (bytes >= kStream) stream_copy(to, from, bytes);
  else if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace torchdali::workers
