// SPDX-License-Identifier: Apache-2.0
// BucketOrder: reorders an epoch so that the samples of a batch are of like length. Works on
// numbers, not files. docs/design/bucketing.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace torchdali {

// The lengths of all samples of a data set, in any unit: finite, 0 or more.
using SampleLengths = std::shared_ptr<const std::vector<float>>;

// An epoch in the order that it has without buckets.
struct UnsortedEpoch {
  int64_t epoch = 0;
  int64_t shard = 0;     // that the epoch reads
  int64_t count = 0;     // its samples
  int64_t head = 0;      // of these, those that complete the last batch of the epoch before
  int64_t batch = 1;     // samples that are used together: a batch, or one of each shard
  bool shuffle = false;  // batches as well
  uint64_t seed = 0;     // of the shuffling
  bool operator==(const UnsortedEpoch&) const = default;
};

// Cuts an epoch into windows of equal size, at most `window` batches; sorts each window by length,
// stably; cuts it into batches; and shuffles these if samples are shuffled. Samples before the
// first whole batch and after the last one stay where they are. So a batch that is padded or
// dropped has the samples that it has without buckets.
//
// at() is random access and depends on nothing but its arguments and the lengths. Sorted windows
// are kept, a few at a time. Any thread.
class BucketOrder {
 public:
  BucketOrder(SampleLengths lengths, int64_t window);

  // The index in the data set of the sample at `place` of the epoch, of which `index_of` returns
  // the index without buckets.
  int64_t at(const UnsortedEpoch& epoch, int64_t place,
             const std::function<int64_t(int64_t)>& index_of) const;
  int64_t window() const { return window_; }
  // A checksum of the lengths, for checkpoints.
  int64_t checksum() const { return checksum_; }

 private:
  struct Window {
    UnsortedEpoch epoch;
    int64_t number = -1;
    int64_t used = 0;  // the higher, the later
    std::vector<uint32_t> indices;
  };
  void sort(Window& window, int64_t first, int64_t batches,
            const std::function<int64_t(int64_t)>& index_of) const;

  SampleLengths lengths_;
  int64_t window_;
  int64_t checksum_;
  mutable std::mutex mutex_;
  mutable std::array<Window, 4> kept_;  // of the position, and of what is read ahead
  mutable int64_t uses_ = 0;
};

}  // namespace torchdali
