// SPDX-License-Identifier: Apache-2.0
// ScratchPool: the memory of one worker for values between operators and for the scratch memory of
// operators. Blocks are reused from sample to sample and stay in the worker's cache.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#endif

namespace torchdali {

// Returns pages to the system. Blocks are not allocated on the heap, because replacing blocks by
// larger ones would fragment it.
struct Unmap {
  size_t size = 0;
  void operator()(std::byte* p) const {
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    munmap(p, size);
  }
};

// One worker thread only.
class ScratchPool {
 public:
  struct Block {
    std::unique_ptr<std::byte[], Unmap> memory;
    size_t size = 0;
    int users = 0;
    uint64_t last_used = 0;  // in acquisitions
  };

  // At least `size` bytes, 64-byte aligned, with one user.
  Block* acquire(size_t size) {
    if (++acquisitions_ % kStale == 0) drop_stale();
    Block* best = nullptr;
    for (const auto& b : blocks_) {
      if (b->users == 0 && b->size >= size && (best == nullptr || b->size < best->size))
        best = b.get();
    }
    // A tiny value must not occupy a block that the next image needs.
    if (best != nullptr && best->size / kMaxWaste > size + kGranularity) best = nullptr;
    if (best == nullptr) best = add(size);
    best->users = 1;
    best->last_used = acquisitions_;
    // Lets the sanitizer detect accesses beyond `size`, as on the heap.
    ASAN_POISON_MEMORY_REGION(best->memory.get(), best->size);
    ASAN_UNPOISON_MEMORY_REGION(best->memory.get(), size);
    return best;
  }
  void release(Block* block) {
    if (--block->users == 0) ASAN_POISON_MEMORY_REGION(block->memory.get(), block->size);
  }
  // The size of all blocks, in use or not.
  size_t size_bytes() const {
    size_t sum = 0;
    for (const auto& b : blocks_) sum += b->size;
    return sum;
  }

 private:
  static constexpr size_t kGranularity = 4096;
  static constexpr size_t kMaxWaste = 8;
  // Blocks that were not used for so many acquisitions (some hundred images) are freed. Otherwise
  // each worker would keep blocks for the largest image of all. If they were freed sooner, larger
  // images would fault in their pages again: with 256, that took 5 % of the time of the ImageNet
  // pipeline.
  static constexpr uint64_t kStale = 4096;

  static std::unique_ptr<std::byte[], Unmap> map_memory(size_t size) {
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    return {static_cast<std::byte*>(p), Unmap{size}};
  }
  void drop_stale() {
    std::erase_if(blocks_, [&](const auto& b) {
      return b->users == 0 && b->last_used + kStale <= acquisitions_;
    });
  }
  Block* add(size_t size) {
    if (size > std::numeric_limits<size_t>::max() / 2) throw std::bad_alloc();  // rounded up below
    // Drops an idle block that is too small, so that the pool has about one block per live value.
    const auto idle = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& b) {
      return b->users == 0 && b->size < size && b->size >= size / kMaxWaste;
    });
    if (idle != blocks_.end()) blocks_.erase(idle);
    auto block = std::make_unique<Block>();
    block->size = (size + size / 8 + kGranularity) / kGranularity * kGranularity;  // not 0
    block->memory = map_memory(block->size);
    blocks_.push_back(std::move(block));
    return blocks_.back().get();
  }
  std::vector<std::unique_ptr<Block>> blocks_;
  uint64_t acquisitions_ = 0;
};

}  // namespace torchdali
