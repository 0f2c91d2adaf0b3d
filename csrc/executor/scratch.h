// SPDX-License-Identifier: Apache-2.0
// ScratchPool: memory of one worker for the values between operators and for what an operator needs
// while it runs. Blocks are reused from sample to sample and stay warm in the worker's cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace torchdali {

// One worker thread only.
class ScratchPool {
 public:
  struct Block {
    std::unique_ptr<std::byte[], void (*)(std::byte*)> memory{nullptr, &release_memory};
    size_t size = 0;
    int users = 0;
  };

  // At least `size` bytes, 64-byte aligned, with one user.
  Block* acquire(size_t size) {
    Block* best = nullptr;
    for (const auto& b : blocks_) {
      if (b->users == 0 && b->size >= size && (best == nullptr || b->size < best->size))
        best = b.get();
    }
    // A tiny value must not hold the block that the next image needs.
    if (best != nullptr && best->size / kMaxWaste > size + kGranularity) best = nullptr;
    if (best == nullptr) best = add(size);
    best->users = 1;
    return best;
  }
  void release(Block* block) {
    if (--block->users == 0 && block->size > kMaxKept)
      std::erase_if(blocks_, [&](const auto& b) { return b.get() == block; });
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kGranularity = 4096;
  static constexpr size_t kMaxWaste = 8;
  static constexpr size_t kMaxKept = size_t{64} << 20;  // rare giants are given back at once

  static void release_memory(std::byte* p) { ::operator delete[](p, std::align_val_t(kAlignment)); }
  Block* add(size_t size) {
    // A block that no longer fits is dropped where it is idle: the pool keeps about one per live
    // value.
    const auto idle = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& b) {
      return b->users == 0 && b->size < size && b->size >= size / kMaxWaste;
    });
    if (idle != blocks_.end()) blocks_.erase(idle);
    auto block = std::make_unique<Block>();
    block->size = (size + size / 8 + kGranularity - 1) / kGranularity * kGranularity;
    block->memory.reset(new (std::align_val_t(kAlignment)) std::byte[block->size]);
    blocks_.push_back(std::move(block));
    return blocks_.back().get();
  }
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace torchdali
