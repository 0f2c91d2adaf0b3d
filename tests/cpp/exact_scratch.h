// SPDX-License-Identifier: Apache-2.0
// Scratch memory as decoders may expect it and not a byte more: aligned, filled with rubbish, each
// block one of the heap, so that ASan sees what goes beside it.
#pragma once

#include <cstring>
#include <new>
#include <vector>

#include "expect.h"
#include "io/image.h"

namespace torchdali::io {

class ExactScratch : public ScratchMemory {
 public:
  ExactScratch() = default;
  ExactScratch(const ExactScratch&) = delete;
  ExactScratch& operator=(const ExactScratch&) = delete;
  ~ExactScratch() override {
    for (void* p : blocks_) ::operator delete(p, kAlignment);
  }

  // Refuses what no small file should ask for.
  void* allocate(size_t bytes) override {
    EXPECT(bytes < (size_t{1} << 28));
    void* p = ::operator new(bytes, kAlignment);
    blocks_.push_back(p);
    std::memset(p, 0xA5, bytes);
    return p;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  std::vector<void*> blocks_;
};

}  // namespace torchdali::io
