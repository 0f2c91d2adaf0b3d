// SPDX-License-Identifier: Apache-2.0
// EpochPlan: which samples of an epoch one shard of a training run gets. docs/design/loop.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace torchdali {

struct EpochPlan {
  int64_t epoch = 0;
  int64_t size = 0;   // samples of the epoch; readers use their own size
  int64_t first = 0;  // samples of the epoch that all shards together have already had
  int64_t shard = 0;
  int64_t num_shards = 1;
  int64_t count = 0;  // samples of this shard
  int batch_size = 1;
  bool shuffle = false;
  bool repeat = false;  // after the last sample, start over; otherwise repeat the last sample
  uint64_t seed = 0;    // of the shuffling
  // Batches of like length: what a length is, and how many batches are sorted together. "" and 0:
  // as the reader says.
  std::string bucket_by = {};
  int64_t bucket_window = 0;
  int64_t bucket_batch = 1;  // samples of a batch of all shards, where the epoch began

  // The position of sample `k` of this shard in the order of all shards. May exceed `size`.
  int64_t position(int64_t k) const { return first + k * num_shards + shard; }
  // The size of the batch that begins at sample `k`; 0 at the end.
  int batch_at(int64_t k, int max_size) const {
    return static_cast<int>(
        std::min<int64_t>({batch_size, max_size, std::max<int64_t>(0, count - k)}));
  }
  // The key of the random values of sample `k`, for any number of shards. Positions are below 2^34.
  uint64_t sample_id(int64_t k) const {
    return (static_cast<uint64_t>(epoch) << 34) + static_cast<uint64_t>(position(k));
  }
};

}  // namespace torchdali
