// SPDX-License-Identifier: Apache-2.0
// EpochOrder: the sample of a data set at each position of a reader's endless stream, with shards,
// padding and shuffling. Works on numbers, not files. The rules: docs/design/epochs.md.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ops/readers/buckets/bucket_order.h"

namespace torchdali {

enum class Shuffle : int8_t {
  kNone,
  kShard,       // `random_shuffle`: each epoch permutes the samples of the shard
  kWholeEpoch,  // `shuffle_after_epoch`: each epoch permutes the data set, then cuts it into shards
};

struct EpochOrderOptions {
  int64_t size = 0;  // samples of the whole data set
  int shard_id = 0;
  int num_shards = 1;
  int batch_size = 1;  // padded epochs are whole batches
  bool stick_to_shard = false;
  bool pad_last_batch = false;
  Shuffle shuffle = Shuffle::kNone;
  uint64_t seed = 0;
  std::shared_ptr<const BucketOrder> buckets = nullptr;  // batches of like length
};

// Immutable; every function may be called from any thread. at() is random access, so the position
// is the whole state to save and resume from. A Place is equivalent, but does not depend on where
// the stream of this shard began.
class EpochOrder {
 public:
  struct Item {
    int64_t index;  // in the data set, 0 <= index < size
    int64_t epoch;  // an epoch is one pass over one shard
    bool padding;   // repeats the last sample of its epoch
  };

  struct Place {
    int64_t epoch;
    int64_t consumed;  // samples of that epoch before it, padding included
    int shard;         // that the epoch reads
  };

  // Raises kValue if a shard would be empty or the options contradict each other.
  explicit EpochOrder(const EpochOrderOptions& options);

  Item at(int64_t position) const;
  Place place(int64_t position) const;
  // The inverse of place(). Raises kValue if the epoch is shorter, or out of range.
  int64_t position(int64_t epoch, int64_t consumed) const;
  // Samples, without padding, of shard `shard`.
  int64_t shard_size(int shard) const { return shard_begin(shard + 1) - shard_begin(shard); }
  int64_t size() const { return options_.size; }
  // `size`; if epochs are padded, the size of the largest shard times the number of shards.
  int64_t padded_size() const;

 private:
  int64_t shard_begin(int shard) const;
  // Without buckets: sample `offset` of the shard in an epoch.
  int64_t index_of(int64_t epoch, int shard, int64_t offset) const;
  // kShard: the order that is cut into shards. It takes memory for each sample, and is made when it
  // is first needed: never if the reader follows the plans of a training loop.
  const std::vector<uint32_t>& base() const;
  // A reader that distributes all samples anew keeps its shard.
  bool stays() const { return options_.stick_to_shard || options_.shuffle == Shuffle::kWholeEpoch; }

  EpochOrderOptions options_;
  int64_t padded_epoch_ = 0;  // samples of an epoch, padding included; 0: not padded
  mutable std::once_flag base_made_;
  mutable std::vector<uint32_t> base_;
};

// A permutation of 0..size-1 chosen by `key`: the image of `index`. Stateless, O(1) time and
// memory.
uint64_t permute_index(uint64_t index, uint64_t size, uint64_t key);
// The permutation of an epoch.
int64_t epoch_permutation(int64_t index, int64_t size, uint64_t seed, int64_t epoch);

}  // namespace torchdali
