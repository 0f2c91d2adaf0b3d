// SPDX-License-Identifier: Apache-2.0
// EpochOrder against a reader that counts one sample at a time, against DALI's order of samples,
// and its permutations against chance.
// sources: csrc/ops/readers/buckets/bucket_order.cpp csrc/ops/readers/epoch_order.cpp
// sanitizers: address
#include "ops/readers/epoch_order.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"

namespace {

using torchdali::BucketOrder;
using torchdali::EpochOrder;
using torchdali::EpochOrderOptions;
using torchdali::permute_index;
using torchdali::Shuffle;

#define CHECK(condition, ...)                                            \
  do {                                                                   \
    if (!(condition)) {                                                  \
      std::printf("%s:%d: %s failed: ", __FILE__, __LINE__, #condition); \
      std::printf("%s\n", torchdali::str_cat(__VA_ARGS__).c_str());      \
      std::exit(1);                                                      \
    }                                                                    \
  } while (false)

std::string describe(const EpochOrderOptions& o) {
  return torchdali::str_cat("size ", o.size, " shard ", o.shard_id, "/", o.num_shards, " batch ",
                            o.batch_size, " stick ", o.stick_to_shard, " pad ", o.pad_last_batch,
                            " shuffle ", static_cast<int>(o.shuffle), " window ",
                            o.buckets ? o.buckets->window() : 0);
}

// Lengths with ties, in no order.
float length_of(int64_t index) { return static_cast<float>(index * 7 % 11 / 2); }

std::shared_ptr<const BucketOrder> buckets(int64_t size, int64_t window) {
  if (window == 0) return nullptr;
  std::vector<float> lengths;
  for (int64_t i = 0; i < size; ++i) lengths.push_back(length_of(i));
  return std::make_shared<const BucketOrder>(
      std::make_shared<const std::vector<float>>(std::move(lengths)), window);
}

// The law, told as a loop over epochs. Calls fn(options, order, epoch, shard, first position,
// samples with padding).
template <class Fn>
void for_each_epoch(const EpochOrderOptions& o, int epochs, Fn&& fn) {
  const EpochOrder order(o);
  int64_t position = 0;
  int shard = o.shard_id;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    int64_t length = order.shard_size(shard);
    if (o.pad_last_batch) {
      length = 0;
      for (int s = 0; s < o.num_shards; ++s) length = std::max(length, order.shard_size(s));
      while (length % o.batch_size != 0) ++length;
    }
    fn(order, epoch, shard, position, length);
    position += length;
    if (!o.stick_to_shard && o.shuffle != Shuffle::kWholeEpoch) shard = (shard + 1) % o.num_shards;
  }
}

template <class Fn>
void for_all_options(Fn&& fn) {
  for (int64_t size : {1, 2, 3, 7, 10, 16, 23})
    for (int shards : {1, 2, 3, 5, 7})
      for (int id = 0; id < shards; ++id)
        for (int batch : {1, 3, 4, 30})
          for (bool stick : {false, true})
            for (bool pad : {false, true})
              for (Shuffle shuffle : {Shuffle::kNone, Shuffle::kShard, Shuffle::kWholeEpoch}) {
                if (shards > size || (stick && shuffle == Shuffle::kWholeEpoch)) continue;
                for (int window : {0, 1, 3})
                  fn(EpochOrderOptions{size, id, shards, batch, stick, pad, shuffle, 42,
                                       buckets(size, window)});
              }
}

void test_epochs_hold_their_shard_once() {
  for_all_options([](const EpochOrderOptions& o) {
    for_each_epoch(
        o, 3 * o.num_shards,
        [&](const EpochOrder& order, int epoch, int shard, int64_t first, int64_t length) {
          const int64_t begin = o.size * shard / o.num_shards;
          const int64_t count = order.shard_size(shard);
          std::set<int64_t> seen;
          int64_t last = -1;
          for (int64_t k = 0; k < length; ++k) {
            const EpochOrder::Item item = order.at(first + k);
            CHECK(item.epoch == epoch, describe(o), " position ", first + k, " epoch ", item.epoch);
            CHECK(item.padding == (k >= count), describe(o), " position ", first + k);
            if (item.padding) {
              CHECK(item.index == last, describe(o), " padding must repeat the last sample");
            } else {
              CHECK(seen.insert(item.index).second, describe(o), " twice: ", item.index);
              if (o.shuffle == Shuffle::kNone && !o.buckets)
                CHECK(item.index == begin + k, describe(o), " index ", item.index);
            }
            last = item.index;
          }
          CHECK(static_cast<int64_t>(seen.size()) == count, describe(o));
        });
  });
}

// Batch by batch: of a stream with buckets, each batch has consecutive samples of a sorted window,
// and batches with samples of two epochs, and the last ones, have the samples of the same stream
// without buckets.
void test_buckets_sort_windows_of_batches() {
  for_all_options([](const EpochOrderOptions& o) {
    if (!o.buckets) return;
    EpochOrderOptions plain = o;
    plain.buckets = nullptr;
    const EpochOrder unsorted(plain);
    for_each_epoch(
        o, 3 * o.num_shards, [&](const EpochOrder& order, int, int shard, int64_t first, int64_t) {
          const int64_t count = order.shard_size(shard), batch = o.batch_size;
          const int64_t head = std::min(count, (batch - first % batch) % batch);
          const int64_t whole = (count - head) / batch;
          const int64_t windows = (whole + o.buckets->window() - 1) / o.buckets->window();
          for (int64_t k = 0; k < count; ++k)
            if (k < head || k >= head + whole * batch)
              CHECK(order.at(first + k).index == unsorted.at(first + k).index, describe(o));
          for (int64_t w = 0; w < windows; ++w) {
            const int64_t begin = first + head + whole * w / windows * batch;
            const int64_t end = first + head + whole * (w + 1) / windows * batch;
            std::vector<int64_t> expected;
            for (int64_t p = begin; p < end; ++p) expected.push_back(unsorted.at(p).index);
            std::stable_sort(expected.begin(), expected.end(),
                             [](int64_t a, int64_t b) { return length_of(a) < length_of(b); });
            const auto cut = [&](auto&& index_at) {
              std::vector<std::vector<int64_t>> batches;
              for (int64_t p = begin; p < end; ++p) {
                if ((p - begin) % batch == 0) batches.emplace_back();
                batches.back().push_back(index_at(p));
              }
              return batches;
            };
            auto want = cut([&](int64_t p) { return expected[static_cast<size_t>(p - begin)]; });
            auto got = cut([&](int64_t p) { return order.at(p).index; });
            if (o.shuffle != Shuffle::kNone) {
              std::sort(want.begin(), want.end());
              std::sort(got.begin(), got.end());
            }
            CHECK(got == want, describe(o), " window ", w);
          }
        });
  });
}

void test_places_say_what_positions_say() {
  for_all_options([](const EpochOrderOptions& o) {
    for_each_epoch(
        o, 3 * o.num_shards,
        [&](const EpochOrder& order, int epoch, int shard, int64_t first, int64_t length) {
          for (int64_t k = 0; k < length; ++k) {
            const EpochOrder::Place place = order.place(first + k);
            CHECK(place.epoch == epoch && place.consumed == k && place.shard == shard, describe(o),
                  " position ", first + k);
            CHECK(order.position(epoch, k) == first + k, describe(o), " epoch ", epoch);
          }
        });
    const EpochOrder order(o);
    constexpr int64_t kFar = int64_t{1} << 50;
    const EpochOrder::Place far = order.place(order.position(kFar, 0));
    CHECK(far.epoch == kFar && far.consumed == 0, describe(o));
    for (const auto& [epoch, consumed] : std::vector<std::pair<int64_t, int64_t>>{
             {-1, 0}, {0, -1}, {0, 1000}, {INT64_MAX, 0}, {INT64_MAX / 4, 0}}) {
      bool refused = false;
      try {
        order.position(epoch, consumed);
      } catch (const torchdali::Error&) {
        refused = true;
      }
      CHECK(refused, describe(o), " epoch ", epoch, " consumed ", consumed);
    }
  });
}

void test_ranks_cover_the_data_set_in_each_epoch() {
  for (Shuffle shuffle : {Shuffle::kNone, Shuffle::kShard, Shuffle::kWholeEpoch})
    for (bool stick : {false, true}) {
      if (stick && shuffle == Shuffle::kWholeEpoch) continue;
      std::map<int, std::set<int64_t>> of_epoch;
      for (int id = 0; id < 4; ++id) {
        // Ranks with different seeds must still agree on the shards of random_shuffle.
        const uint64_t seed = shuffle == Shuffle::kShard ? static_cast<uint64_t>(id) : 9;
        for_each_epoch({23, id, 4, 3, stick, true, shuffle, seed}, 8,
                       [&](const EpochOrder& order, int epoch, int, int64_t first, int64_t length) {
                         for (int64_t k = 0; k < length; ++k) {
                           const auto item = order.at(first + k);
                           if (!item.padding)
                             CHECK(of_epoch[epoch].insert(item.index).second, "in two shards");
                         }
                       });
      }
      for (const auto& [epoch, indices] : of_epoch) CHECK(indices.size() == 23, "epoch ", epoch);
    }
}

// Orders that DALI 1.35.0 gave for readers.file(random_shuffle=True, initial_fill=1).
void test_random_shuffle_cuts_dali_s_shards() {
  const auto shard_of = [](int64_t size, int id, int shards) {
    const EpochOrder order({size, id, shards, 1, true, false, Shuffle::kShard, 3});
    std::vector<int64_t> out(static_cast<size_t>(order.shard_size(id)));
    for (size_t k = 0; k < out.size(); ++k) out[k] = order.at(static_cast<int64_t>(k)).index;
    std::sort(out.begin(), out.end());
    return out;
  };
  using V = std::vector<int64_t>;
  CHECK(shard_of(5, 0, 5) == V{3} && shard_of(5, 4, 5) == V{1}, "odd size");
  CHECK((shard_of(8, 0, 2) == V{1, 3, 5, 6}), "even size");
  CHECK((shard_of(14, 1, 2) == V{0, 3, 4, 6, 8, 11, 12}), "14 samples");
  // One sample a shard shows the order itself: first three, and CRC-32 of all as int32.
  const auto crc_of = [](int64_t size) {
    uint32_t crc = ~0u;
    for (int64_t k = 0; k < size; ++k) {
      const EpochOrder::Item item = [&] {
        static std::map<int64_t, EpochOrder> orders;
        const auto found =
            orders.try_emplace(size, EpochOrderOptions{size, 0, static_cast<int>(size), 1, false,
                                                       false, Shuffle::kShard, 0});
        return found.first->second.at(k);
      }();
      for (int byte = 0; byte < 4; ++byte) {
        crc ^= static_cast<uint32_t>(item.index >> (8 * byte)) & 0xff;
        for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
      }
    }
    return ~crc;
  };
  CHECK(crc_of(1000) == 1927076753u, "1000 samples");
  CHECK(crc_of(1001) == 489631931u, "1001 samples");
  CHECK(crc_of(65535) == 2274250991u, "65535: positions drawn in pairs");
  CHECK(crc_of(65536) == 2775438924u, "65536: one by one from here");
  CHECK(crc_of(70001) == 2520078926u, "70001 samples");
}

void test_permutations_are_permutations() {
  for (uint64_t size = 1; size <= 300; ++size)
    for (uint64_t key : {0ull, 1ull, 0xfeedbeefcafeull}) {
      std::vector<bool> hit(size);
      for (uint64_t i = 0; i < size; ++i) hit[permute_index(i, size, key)] = true;
      CHECK(std::count(hit.begin(), hit.end(), true) == static_cast<int64_t>(size), "size ", size);
    }
  const uint64_t large = 1281167;  // ImageNet's training set
  std::vector<bool> hit(large);
  for (uint64_t i = 0; i < large; ++i) hit[permute_index(i, large, 7)] = true;
  CHECK(std::count(hit.begin(), hit.end(), true) == static_cast<int64_t>(large), "1281167");
}

// Pearson's statistic of `counts` against equal shares; for f degrees of freedom it lies within
// f +- 5 sqrt(2 f) but for one case in a million.
void check_equal_shares(const std::vector<int64_t>& counts, const std::string& what) {
  const double total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double statistic = 0;
  for (int64_t c : counts) statistic += (c - expected) * (c - expected) / expected;
  const double freedom = static_cast<double>(counts.size() - 1);
  CHECK(statistic < freedom + 5 * std::sqrt(2 * freedom) + 10, what, ": chi-square ", statistic,
        " for ", freedom, " degrees of freedom");
}

void test_permutations_are_fair() {
  for (uint64_t size : {2, 3, 4, 5}) {  // every permutation equally often
    std::map<std::vector<uint64_t>, int64_t> counts;
    for (uint64_t key = 0; key < 60000; ++key) {
      std::vector<uint64_t> p(size);
      for (uint64_t i = 0; i < size; ++i) p[i] = permute_index(i, size, key);
      ++counts[p];
    }
    std::vector<int64_t> shares;
    for (const auto& entry : counts) shares.push_back(entry.second);
    CHECK(shares.size() == (size == 2 ? 2 : size == 3 ? 6 : size == 4 ? 24 : 120), "size ", size);
    check_equal_shares(shares, torchdali::str_cat("permutations of ", size));
  }
  for (uint64_t size : {10, 37, 64, 100}) {  // every element equally often at every place,
    std::vector<int64_t> place(size * size), step(size);  // and neighbors unrelated
    for (uint64_t key = 0; key < 3000; ++key) {
      uint64_t before = permute_index(0, size, key);
      for (uint64_t i = 0; i < size; ++i) {
        const uint64_t at = permute_index(i, size, key);
        ++place[i * size + at];
        if (i > 0) ++step[(at + size - before) % size];
        before = at;
      }
    }
    check_equal_shares(place, torchdali::str_cat("places among ", size));
    CHECK(step[0] == 0, "a neighbor is another element");
    step.erase(step.begin());
    check_equal_shares(step, torchdali::str_cat("steps among ", size));
  }
  // Fixed points of permutations of a large set: one on average, whatever the size.
  int64_t fixed = 0;
  for (uint64_t key = 0; key < 50; ++key)
    for (uint64_t i = 0; i < 70000; ++i) fixed += permute_index(i, 70000, key) == i;
  CHECK(fixed > 15 && fixed < 100, "50 permutations have ", fixed, " fixed points");
}

// Golden: changing what a seed gives is a breaking change.
void test_order_of_a_seed_stays() {
  const EpochOrder order({10, 0, 1, 1, false, false, Shuffle::kShard, 1234});
  std::vector<int64_t> got;
  for (int64_t k = 0; k < 20; ++k) got.push_back(order.at(k).index);
  const std::vector<int64_t> expected = {4, 9, 6, 3, 0, 8, 2, 7, 1, 5,
                                         9, 6, 8, 5, 4, 3, 0, 1, 7, 2};
  std::string text;
  for (int64_t i : got) text += torchdali::str_cat(i, ", ");
  CHECK(got == expected, "got ", text);
}

template <class Change>
void check_refused(const char* text, Change&& change) {
  EpochOrderOptions o{.size = 10};
  change(o);
  try {
    EpochOrder order(o);
  } catch (const torchdali::Error& error) {
    CHECK(error.message().find(text) != std::string::npos, error.message());
    return;
  }
  CHECK(false, "accepted: ", text);
}

void test_wrong_options_are_refused() {
  check_refused("`num_shards` is 0", [](auto& o) { o.num_shards = 0; });
  check_refused("`shard_id` is 2", [](auto& o) { o.num_shards = 2, o.shard_id = 2; });
  check_refused("`shard_id` is -1", [](auto& o) { o.shard_id = -1; });
  check_refused("has 10 samples, fewer", [](auto& o) { o.num_shards = 11; });
  check_refused("exclude each other",
                [](auto& o) { o.shuffle = Shuffle::kWholeEpoch, o.stick_to_shard = true; });
}

}  // namespace

int main() {
  test_epochs_hold_their_shard_once();
  test_buckets_sort_windows_of_batches();
  test_places_say_what_positions_say();
  test_ranks_cover_the_data_set_in_each_epoch();
  test_random_shuffle_cuts_dali_s_shards();
  test_permutations_are_permutations();
  test_permutations_are_fair();
  test_order_of_a_seed_stays();
  test_wrong_options_are_refused();
  const EpochOrder order({1281167, 0, 1, 64, false, false, Shuffle::kShard, 1});
  const auto start = std::chrono::steady_clock::now();
  int64_t sum = 0;
  for (int64_t k = 0; k < 100000; ++k) sum += order.at(k * 5).index;
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  std::printf("ok (%.0f ns per shuffled sample, checksum %ld)\n", taken.count() / 1e5,
              static_cast<long>(sum));
}
