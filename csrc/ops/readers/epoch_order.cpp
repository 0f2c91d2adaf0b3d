// SPDX-License-Identifier: Apache-2.0
// EpochOrder: arithmetic of shards and epochs, and the two kinds of permutation it needs.
#include "ops/readers/epoch_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace torchdali {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// DALI 1.35.0 mixes the list of files once, in the same way whatever the seed, before it cuts
// random_shuffle's shards. Ours must be the same order, or the shards would hold other samples.
// Found by comparing outputs (tests/cpp/epoch_order_test.cpp holds its checksums): a Fisher-Yates
// shuffle going up, driven by mt19937 with this seed. Positions are drawn in pairs from one word
// where both fit into it.
std::vector<uint32_t> shard_base_order(int64_t size) {
  constexpr uint32_t kSeed = 524287, kMaxWord = std::numeric_limits<uint32_t>::max();
  std::mt19937 generator(kSeed);  // NOLINT(bugprone-random-generator-seed): always the same order
  const auto below = [&](uint64_t bound) -> uint64_t {
    const uint64_t step = kMaxWord / bound;
    uint64_t word = generator();
    while (word >= step * bound) word = generator();
    return word / step;
  };
  std::vector<uint32_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0u);
  const uint64_t n = order.size();
  const bool pairs = kMaxWord / n >= n;
  uint64_t i = 1;
  if (!pairs || n % 2 == 0) {
    const uint64_t single_end = pairs ? 2 : n;
    for (; i < single_end; ++i) std::swap(order[i], order[below(i + 1)]);
  }
  for (; i < n; i += 2) {
    const uint64_t both = below((i + 1) * (i + 2));
    std::swap(order[i], order[both / (i + 2)]);
    std::swap(order[i + 1], order[both % (i + 2)]);
  }
  return order;
}

// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The best mixed bits of a word; 0 for no bits.
uint64_t top_bits(uint64_t word, int bits) { return bits == 0 ? 0 : word >> (64 - bits); }

}  // namespace

// A Feistel network over the smallest power of two that holds `size`; values past the end walk on
// until they fall inside (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
// The two halves may differ by a bit; a round replaces one of them. Round keys come from Philox;
// the rounds themselves use a cheaper mixer, which makes a sample cost 0.1 us, not 0.5 us.
uint64_t permute_index(uint64_t index, uint64_t size, uint64_t key) {
  if (size <= 1) return 0;
  // Exact for 3 and 4 elements: each round halves the distance from the uniform distribution over
  // all permutations, 16 rounds leave 5e-6. Wide halves mix faster; 8 rounds are twice what a
  // pseudorandom permutation needs (Luby and Rackoff, 1988).
  const int bits = std::bit_width(size - 1), right_bits = bits / 2, left_bits = bits - right_bits;
  const int rounds = bits < 16 ? 16 : 8;
  std::array<uint64_t, 16> round_keys;
  RandomStream random(key, size);
  for (int round = 0; round < rounds; ++round) round_keys[round] = random.next_u64();
  do {
    uint64_t left = index >> right_bits, right = index & ((uint64_t{1} << right_bits) - 1);
    for (int round = 0; round < rounds; round += 2) {
      left ^= top_bits(mix(right ^ round_keys[round]), left_bits);
      right ^= top_bits(mix(left ^ round_keys[round + 1]), right_bits);
    }
    index = left << right_bits | right;
  } while (index >= size);
  return index;
}

int64_t epoch_permutation(int64_t index, int64_t size, uint64_t seed, int64_t epoch) {
  const uint64_t key = derive_seed(seed, static_cast<uint64_t>(epoch));
  return static_cast<int64_t>(
      permute_index(static_cast<uint64_t>(index), static_cast<uint64_t>(size), key));
}

EpochOrder::EpochOrder(const EpochOrderOptions& options) : options_(options) {
  const auto& o = options_;
  TORCHDALI_CHECK(o.num_shards >= 1, "`num_shards` is ", o.num_shards, ", expected 1 or more");
  TORCHDALI_CHECK(o.shard_id >= 0 && o.shard_id < o.num_shards, "`shard_id` is ", o.shard_id,
                  ", expected 0 to `num_shards` - 1 = ", o.num_shards - 1);
  TORCHDALI_CHECK(o.num_shards <= o.size, "the data set has ", o.size, " samples, fewer than the ",
                  o.num_shards, " of `num_shards`: some shards would be empty");
  TORCHDALI_CHECK(o.size <= std::numeric_limits<uint32_t>::max(), "the data set has ", o.size,
                  " samples, more than the 4294967295 that a reader can index");
  TORCHDALI_CHECK(o.shuffle != Shuffle::kWholeEpoch || !o.stick_to_shard,
                  "`shuffle_after_epoch` and `stick_to_shard` exclude each other: the first deals "
                  "all samples out anew in each epoch",
                  to_fix("give one of them"));
  TORCHDALI_ASSERT(o.batch_size >= 1, "batch size ", o.batch_size);
  // All shards have the same number of whole batches, that of the largest shard.
  if (o.pad_last_batch)
    padded_epoch_ = ceil_div(ceil_div(o.size, o.num_shards), o.batch_size) * o.batch_size;
}

const std::vector<uint32_t>& EpochOrder::base() const {
  std::call_once(base_made_, [this] { base_ = shard_base_order(options_.size); });
  return base_;
}

int64_t EpochOrder::shard_begin(int shard) const {
  return options_.size * shard / options_.num_shards;
}

int64_t EpochOrder::padded_size() const {
  return options_.pad_last_batch
             ? ceil_div(options_.size, options_.num_shards) * options_.num_shards
             : options_.size;
}

EpochOrder::Place EpochOrder::place(int64_t position) const {
  const auto& o = options_;
  if (padded_epoch_ > 0 || stays()) {  // epochs of equal length
    const int64_t length = padded_epoch_ > 0 ? padded_epoch_ : shard_size(o.shard_id);
    const int64_t epoch = position / length;
    const int shard = stays() ? o.shard_id : static_cast<int>((o.shard_id + epoch) % o.num_shards);
    return {.epoch = epoch, .consumed = position % length, .shard = shard};
  }
  // Shards follow each other, so one round through all of them is the data set.
  const int64_t from_zero = shard_begin(o.shard_id) + position;
  const int64_t round = from_zero / o.size, offset = from_zero % o.size;
  // The largest shard with shard_begin(shard) <= offset.
  const int shard = static_cast<int>(((offset + 1) * o.num_shards - 1) / o.size);
  return {.epoch = round * o.num_shards + shard - o.shard_id,
          .consumed = offset - shard_begin(shard),
          .shard = shard};
}

int64_t EpochOrder::position(int64_t epoch, int64_t consumed) const {
  const auto& o = options_;
  // Far enough from overflow that place() of later positions is also exact.
  const int64_t most = std::numeric_limits<int64_t>::max() / 4 / std::max(o.size, padded_epoch_);
  TORCHDALI_CHECK(epoch >= 0 && epoch < most, "epoch ", epoch, " is out of range");
  const int64_t moved = o.shard_id + epoch;
  const int shard = stays() ? o.shard_id : static_cast<int>(moved % o.num_shards);
  const int64_t length = padded_epoch_ > 0 ? padded_epoch_ : shard_size(shard);
  TORCHDALI_CHECK(consumed >= 0 && consumed < length, "epoch ", epoch, " has ", length,
                  " samples, of which ", consumed, " cannot have been read");
  if (padded_epoch_ > 0 || stays()) return epoch * length + consumed;
  return moved / o.num_shards * o.size + shard_begin(shard) + consumed - shard_begin(o.shard_id);
}

int64_t EpochOrder::index_of(int64_t epoch, int shard, int64_t offset) const {
  const auto& o = options_;
  const int64_t begin = shard_begin(shard);
  if (o.shuffle == Shuffle::kWholeEpoch)
    return epoch_permutation(begin + offset, o.size, o.seed, epoch);
  if (o.shuffle == Shuffle::kNone) return begin + offset;
  return base()[static_cast<size_t>(begin +
                                    epoch_permutation(offset, shard_size(shard), o.seed, epoch))];
}

EpochOrder::Item EpochOrder::at(int64_t position) const {
  const auto& o = options_;
  const auto [epoch, consumed, shard] = place(position);
  const int64_t size = shard_size(shard);
  const bool padding = consumed >= size;
  const int64_t offset = padding ? size - 1 : consumed;
  if (!o.buckets) return {index_of(epoch, shard, offset), epoch, padding};
  // The stream is cut into batches, whatever epochs they belong to.
  const int64_t into_batch = (position - consumed) % o.batch_size;
  const UnsortedEpoch unsorted{.epoch = epoch,
                               .shard = shard,
                               .count = size,
                               .head = into_batch == 0 ? 0 : o.batch_size - into_batch,
                               .batch = o.batch_size,
                               .shuffle = o.shuffle != Shuffle::kNone,
                               .seed = o.seed};
  const auto unsorted_index = [&](int64_t i) { return index_of(epoch, shard, i); };
  return {o.buckets->at(unsorted, offset, unsorted_index), epoch, padding};
}

}  // namespace torchdali
