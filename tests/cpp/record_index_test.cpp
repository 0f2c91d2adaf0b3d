// SPDX-License-Identifier: Apache-2.0
// RecordIndex: every record comes back, in each of its layouts and over shards and parts.
// sources: csrc/io/records/record_index.cpp
// sanitizers: address
#include "io/records/record_index.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "expect.h"

namespace {

using torchdali::io::RecordIndex;

struct Place {
  int64_t offset, size;
};

// Records of a shard: most follow one another, some have gaps or are in another order, some are
// larger than a word can say.
std::vector<Place> places_of(std::mt19937_64& random, int count) {
  std::vector<Place> places;
  int64_t at = static_cast<int64_t>(random() % 3) << 33;
  const uint64_t kind = random() % 4;
  for (int i = 0; i < count; ++i) {
    const uint64_t draw = random();
    const auto size =
        static_cast<int64_t>(kind == 3 && draw % 50 == 0 ? draw % (1ULL << 40) : draw % 5000);
    places.push_back({at, size});
    at += size;
    if (kind == 1 && draw % 7 == 0) at += 512;
  }
  if (kind == 2) std::shuffle(places.begin(), places.end(), random);
  return places;
}

void test_every_record_comes_back() {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    RecordIndex index, part;
    std::vector<std::vector<Place>> shards;
    for (int shard = 0; shard < 12; ++shard) {
      // Also empty shards, full blocks, and one record more or less.
      const int count = static_cast<int>(random() % 4 == 0 ? 64 * (random() % 3) : random() % 200);
      shards.push_back(places_of(random, count));
      // The first half is added as it is, the second half in parts of two.
      RecordIndex& to = shard < 6 ? index : part;
      to.add_shard("s" + std::to_string(shard));
      for (const Place& place : shards.back()) to.add(place.offset, place.size);
      if (shard >= 6 && shard % 2 == 1) {
        part.seal();
        index.append(std::move(part));
        part = {};
      }
    }
    index.seal();
    EXPECT(index.num_shards() == 12);
    int64_t i = 0;
    for (int shard = 0; shard < 12; ++shard) {
      EXPECT(index.path(shard) == "s" + std::to_string(shard));
      const std::vector<Place>& expected = shards[static_cast<size_t>(shard)];
      for (size_t k = 0; k < expected.size(); ++k, ++i) {
        const RecordIndex::Record record = index.at(i);
        EXPECT(record.shard == shard && index.shard_of(i) == shard);
        EXPECT(record.number == static_cast<int64_t>(k));
        EXPECT(record.offset == expected[k].offset && record.size == expected[k].size);
      }
    }
    EXPECT(index.size() == i);
  }
}

}  // namespace

int main() {
  test_every_record_comes_back();
  return 0;
}
