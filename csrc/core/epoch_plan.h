// SPDX-License-Identifier: Apache-2.0
// EpochPlan: how a training loop deals one epoch out to its ranks. The law: docs/design/loop.md.
#pragma once

#include <algorithm>
#include <cstdint>

namespace torchdali {

struct EpochPlan {
  int64_t epoch = 0;
  int64_t size = 0;   // samples of the epoch; readers know their own
  int64_t first = 0;  // samples of it that all shards together have had before
  int64_t shard = 0;
  int64_t num_shards = 1;
  int64_t count = 0;  // samples that this shard gives
  int batch_size = 1;
  bool shuffle = false;
  bool repeat = false;  // beyond the last sample the order begins again, else that one is repeated
  uint64_t seed = 0;    // of the shuffling

  // The place of sample `k` of this shard in the order of all shards; beyond `size` it is missing.
  int64_t place(int64_t k) const { return first + k * num_shards + shard; }
  // The samples of the batch that begins at `k`; 0 at the end.
  int batch_at(int64_t k, int max_size) const {
    return static_cast<int>(
        std::min<int64_t>({batch_size, max_size, std::max<int64_t>(0, count - k)}));
  }
  // What random values are keyed by: the same on any number of shards. Places stay below 2^34.
  uint64_t sample_id(int64_t k) const {
    return (static_cast<uint64_t>(epoch) << 34) + static_cast<uint64_t>(place(k));
  }
};

}  // namespace torchdali
