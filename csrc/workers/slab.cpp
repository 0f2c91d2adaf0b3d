// SPDX-License-Identifier: Apache-2.0
#include "workers/slab.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace torchdali::workers {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 64;
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
  if (offset + bytes <= header().size) return;
  try {
    memory_.back(offset, bytes);
  } catch (...) {
    header().has_hole = 1;
    throw;
  }
}

std::byte* Slab::allocate(int output, int sample, DType dtype, std::span<const int64_t> shape) {
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
  back(record.offset, bytes);
  record.dtype = dtype;
  record.ndim = static_cast<int8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), record.shape);
  return memory_.at(record.offset);
}

uint64_t Slab::allocate(uint64_t bytes) {
  check_size(bytes);
  const uint64_t offset = take(bytes);
  try {
    back(offset, bytes);
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
#if defined(__x86_64__)
  constexpr size_t kStream = size_t{1} << 16;
  if (bytes >= kStream) {
    const size_t head = (-reinterpret_cast<uintptr_t>(to)) & 15;
    std::memcpy(to, from, head);
    to += head;
    auto* source = static_cast<const std::byte*>(from) + head;
    bytes -= head;
    for (; bytes >= 64; bytes -= 64, to += 64, source += 64) {
      const auto* p = reinterpret_cast<const __m128i*>(source);
      auto* q = reinterpret_cast<__m128i*>(to);
      const __m128i a = _mm_loadu_si128(p), b = _mm_loadu_si128(p + 1);
      const __m128i c = _mm_loadu_si128(p + 2), d = _mm_loadu_si128(p + 3);
      _mm_stream_si128(q, a);
      _mm_stream_si128(q + 1, b);
      _mm_stream_si128(q + 2, c);
      _mm_stream_si128(q + 3, d);
    }
    _mm_sfence();
    std::memcpy(to, source, bytes);
    return;
  }
#endif
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace torchdali::workers
