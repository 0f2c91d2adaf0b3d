// SPDX-License-Identifier: Apache-2.0
// What each rank of a large job plans, for benchmarks/reading_plan.py: an epoch, resuming inside of
// it, and the samples of the first batches, without data. Prints one JSON object.
//   reading_plan SAMPLES RANKS BATCH_SIZE
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <unordered_set>

#include "core/epoch_plan.h"
#include "ops/readers/epoch_order.h"

namespace {

using torchdali::EpochOrder;
using torchdali::EpochPlan;
using torchdali::Shuffle;

constexpr int kSteps = 4;
constexpr uint64_t kSeed = 7;

// Of the processor, so that other programs on the machine do not count.
double now_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// What a reader keeps of an epoch: the order, and the plan of the loop.
struct Rank {
  std::unique_ptr<const EpochOrder> order;
  EpochPlan plan;
};

Rank rank_of(int64_t samples, int64_t first, int64_t shard, int64_t num_shards, int batch_size) {
  const int64_t left = samples - first;
  return {.order = std::make_unique<const EpochOrder>(torchdali::EpochOrderOptions{
              .size = samples, .batch_size = batch_size, .shuffle = Shuffle::kShard}),
          .plan = {.epoch = 3,
                   .size = samples,
                   .first = first,
                   .shard = shard,
                   .num_shards = num_shards,
                   .count = left / num_shards + (shard < left % num_shards ? 1 : 0),
                   .batch_size = batch_size,
                   .shuffle = true,
                   .seed = kSeed}};
}

struct Found {
  double most_us = 0;      // to plan, and to know the samples of the first batch
  size_t most_bytes = 0;   // of the heap, for one rank
  bool distinct = true;
};

// Plans on all ranks, from `first` on, and takes some steps.
Found plan_all(int64_t samples, int64_t first, int64_t ranks, int batch_size,
               std::unordered_set<int64_t>& seen) {
  Found found;
  for (int64_t shard = 0; shard < ranks; ++shard) {
    const size_t before = heap_bytes();
    const double start = now_us();
    const Rank rank = rank_of(samples, first, shard, ranks, batch_size);
    std::vector<int64_t> indices(static_cast<size_t>(kSteps) * static_cast<size_t>(batch_size));
    const auto take = [&](int step) {
      for (int i = 0; i < batch_size; ++i) {
        const int64_t k = int64_t{step} * batch_size + i;
        indices[static_cast<size_t>(k)] = torchdali::epoch_permutation(
            rank.plan.position(k), samples, rank.plan.seed, rank.plan.epoch);
      }
    };
    take(0);
    found.most_us = std::max(found.most_us, now_us() - start);
    const size_t own = indices.size() * sizeof(int64_t);
    found.most_bytes = std::max(found.most_bytes, heap_bytes() - before - own + sizeof(Rank));
    for (int step = 1; step < kSteps; ++step) take(step);
    for (const int64_t index : indices) found.distinct &= seen.insert(index).second;
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int64_t samples = std::atoll(argv[1]), ranks = std::atoll(argv[2]);
  const int batch_size = std::atoi(argv[3]);
  std::unordered_set<int64_t> seen;
  const Found begun = plan_all(samples, 0, ranks, batch_size, seen);
  // Half of the ranks continue after the steps of all.
  const Found resumed = plan_all(samples, kSteps * ranks * batch_size, std::max<int64_t>(1, ranks / 2),
                                 batch_size, seen);
  std::printf(
      "{\"plan_us\": %.1f, \"resume_us\": %.1f, \"plan_bytes\": %zu, \"distinct\": %s, "
      "\"taken\": %zu}\n",
      begun.most_us, resumed.most_us, std::max(begun.most_bytes, resumed.most_bytes),
      begun.distinct && resumed.distinct ? "true" : "false", seen.size());
  return 0;
}
