// SPDX-License-Identifier: Apache-2.0
// RecordIndex: where the records of container files (shards) lie.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace torchdali::io {

// 16 bytes a record. Any thread may read it after it was built.
class RecordIndex {
 public:
  struct Record {
    int shard;
    int64_t number;  // in its shard
    int64_t offset;
    int64_t size;
  };

  // The records that are added next are in this file.
  void add_shard(std::string path) {
    paths_.push_back(std::move(path));
    begins_.push_back(size());
  }
  void add(int64_t offset, int64_t size) { places_.push_back({offset, size}); }

  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  int num_shards() const { return static_cast<int>(paths_.size()); }
  const std::string& path(int shard) const { return paths_[static_cast<size_t>(shard)]; }
  int shard_of(int64_t i) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), i);
    return static_cast<int>(after - begins_.begin()) - 1;
  }
  Record at(int64_t i) const {
    const int shard = shard_of(i);
    const Place& place = places_[static_cast<size_t>(i)];
    return {shard, i - begins_[static_cast<size_t>(shard)], place.offset, place.size};
  }

 private:
  struct Place {
    int64_t offset, size;
  };
  std::vector<std::string> paths_;
  std::vector<int64_t> begins_;  // the first record of each shard
  std::vector<Place> places_;
};

}  // namespace torchdali::io
