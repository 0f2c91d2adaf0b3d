// SPDX-License-Identifier: Apache-2.0
// fn.decoders.inflate on the GPU: a thread decompresses a block. Format: lz4_Block_format.md of the
// LZ4 project. A kernel cannot raise errors: what follows damaged data is 0.
#pragma once

#include <cstdint>

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// Where a block is in the bytes of its sample.
struct Lz4Chunk {
  int64_t begin = 0, size = 0;
};

// `size` is the number of blocks; each makes `bytes` bytes.
struct Lz4Task : TaskBase {
  BlobOffset chunks = 0;  // Lz4Chunk
  int64_t bytes = 0;
  bool to_bool = false;  // all bytes but 0 become 1
};

// Reads a block and writes inside of it and of the output only, whatever it contains.
class Lz4Reader {
 public:
  TORCHDALI_HOST_DEVICE Lz4Reader(const uint8_t* in, int64_t size, uint8_t* out, int64_t bytes)
      : in_(in), size_(size), out_(out), bytes_(bytes) {}

  // Returns how many bytes were made.
  TORCHDALI_HOST_DEVICE int64_t run() {
    while (at_ < size_) {
      const int token = in_[at_++];
      int64_t count = token >> 4, match = token & 15;
      if (!extend(count) || count > size_ - at_ || count > bytes_ - made_) break;
      for (int64_t i = 0; i < count; ++i) out_[made_ + i] = in_[at_ + i];
      at_ += count;
      made_ += count;
      if (size_ - at_ < 2) break;  // the end
      const int64_t distance = in_[at_] | in_[at_ + 1] << 8;
      at_ += 2;
      if (distance == 0 || distance > made_ || !extend(match)) break;
      match += kMinMatch;
      if (match > bytes_ - made_) break;
      for (int64_t i = 0; i < match; ++i) out_[made_ + i] = out_[made_ + i - distance];
      made_ += match;
    }
    return made_;
  }

 private:
  static constexpr int64_t kMinMatch = 4, kLongLength = 15;

  // Adds the bytes that follow to a length of 15.
  TORCHDALI_HOST_DEVICE bool extend(int64_t& length) {
    if (length < kLongLength) return true;
    while (at_ < size_) {
      const int more = in_[at_++];
      length += more;
      if (more != 255) return true;
    }
    return false;
  }

  const uint8_t* in_;
  int64_t size_;
  uint8_t* out_;
  int64_t bytes_, at_ = 0, made_ = 0;
};

struct Lz4Kernel : Kernel<Lz4Task> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const Lz4Chunk chunk = list<Lz4Chunk>(task.chunks)[i];
    const uint8_t* in = static_cast<const uint8_t*>(task.in) + chunk.begin;
    uint8_t* out = static_cast<uint8_t*>(task.out) + i * task.bytes;
    int64_t made = Lz4Reader(in, chunk.size, out, task.bytes).run();
    // A later match may read a byte, so they become bools at the end.
    if (task.to_bool)
      for (int64_t k = 0; k < made; ++k) out[k] = out[k] != 0;
    for (; made < task.bytes; ++made) out[made] = 0;
  }
};
TORCHDALI_GPU_KERNEL(Lz4Kernel)

}  // namespace torchdali::gpu
