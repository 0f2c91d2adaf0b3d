// SPDX-License-Identifier: Apache-2.0
// BucketOrder: sorts windows of an epoch by length.
#include "ops/readers/buckets/bucket_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "ops/readers/epoch_order.h"

namespace torchdali {
namespace {

// FNV-1a, of words.
int64_t checksum_of(const std::vector<float>& lengths) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const float length : lengths)
    hash = (hash ^ std::bit_cast<uint32_t>(length)) * 0x100000001b3;
  return static_cast<int64_t>(hash >> 1);  // checkpoints have no negative numbers
}

}  // namespace

BucketOrder::BucketOrder(SampleLengths lengths, int64_t window)
    : lengths_(std::move(lengths)), window_(window), checksum_(checksum_of(*lengths_)) {
  TORCHDALI_CHECK(window >= 1, "`bucket_window` is ", window, ", expected 1 or more");
  for (const float length : *lengths_)
    TORCHDALI_ASSERT(std::isfinite(length) && length >= 0, "length ", length);
}

int64_t BucketOrder::at(const UnsortedEpoch& epoch, int64_t place,
                        const std::function<int64_t(int64_t)>& index_of) const {
  const int64_t whole = std::max<int64_t>(0, epoch.count - epoch.head) / epoch.batch;
  const int64_t from_head = place - epoch.head;
  if (from_head < 0 || from_head / epoch.batch >= whole) return index_of(place);
  // Window w has the batches floor(w * whole / windows) to floor((w + 1) * whole / windows) - 1.
  const int64_t windows = whole / window_ + static_cast<int64_t>(whole % window_ != 0);
  const int64_t number = ((from_head / epoch.batch + 1) * windows - 1) / whole;
  const int64_t first = whole * number / windows, end = whole * (number + 1) / windows;
  const auto in_window = static_cast<size_t>(from_head - first * epoch.batch);

  const std::lock_guard lock(mutex_);
  auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Window& w) {
    return w.number == number && w.epoch == epoch;
  });
  if (found == kept_.end()) {
    found = std::min_element(kept_.begin(), kept_.end(),
                             [](const Window& a, const Window& b) { return a.used < b.used; });
    found->number = -1;  // if sorting fails
    found->epoch = epoch;
    sort(*found, epoch.head + first * epoch.batch, end - first, index_of);
    if (epoch.shuffle) {
      const uint64_t key = derive_seed(derive_seed(epoch.seed, static_cast<uint64_t>(epoch.epoch)),
                                       ~static_cast<uint64_t>(number));
      const auto batches = static_cast<uint64_t>(end - first);
      const auto size = static_cast<size_t>(epoch.batch);
      std::vector<uint32_t> shuffled(found->indices.size());
      for (uint64_t b = 0; b < batches; ++b)
        std::copy_n(&found->indices[permute_index(b, batches, key) * size], size,
                    &shuffled[b * size]);
      found->indices = std::move(shuffled);
    }
    found->number = number;
  }
  found->used = ++uses_;
  return found->indices[in_window];
}

// Sorts the samples from place `first` on, of a number of batches.
void BucketOrder::sort(Window& window, int64_t first, int64_t batches,
                       const std::function<int64_t(int64_t)>& index_of) const {
  const auto count = static_cast<size_t>(batches * window.epoch.batch);
  std::vector<uint32_t> unsorted(count);
  // The bits of floats that are not negative are ordered as the floats are. The place after them
  // makes the order stable.
  std::vector<uint64_t> keys(count);
  for (size_t i = 0; i < count; ++i) {
    unsorted[i] = static_cast<uint32_t>(index_of(first + static_cast<int64_t>(i)));
    const float length = (*lengths_)[unsorted[i]] + 0.0f;  // no -0
    keys[i] = uint64_t{std::bit_cast<uint32_t>(length)} << 32 | i;
  }
  std::sort(keys.begin(), keys.end());
  window.indices.resize(count);
  for (size_t i = 0; i < count; ++i) window.indices[i] = unsorted[static_cast<uint32_t>(keys[i])];
}

}  // namespace torchdali
