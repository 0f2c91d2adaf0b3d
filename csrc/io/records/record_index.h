// SPDX-License-Identifier: Apache-2.0
// RecordIndex: where the records of container files (shards) are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torchdali::io {

// About 4 bytes a record where the records of a file follow one another, 8 where they do not, and
// 16 where records have tens of megabytes: a data set may have billions of them, and every rank has
// its index. Any thread may read it after seal().
class RecordIndex {
 public:
  struct Record {
    int shard;
    int64_t number;  // in its shard
    int64_t offset;
    int64_t size;
  };

  // The records that are added next are in this file.
  void add_shard(std::string path);
  void add(int64_t offset, int64_t size);
  // Adds the shards of another index, which is sealed.
  void append(RecordIndex part);
  // Ends the building: packs what is left.
  void seal();

  int64_t size() const { return size_; }
  int num_shards() const { return static_cast<int>(shards_.size()); }
  const std::string& path(int shard) const { return shards_[static_cast<size_t>(shard)].path; }
  int shard_of(int64_t i) const;
  Record at(int64_t i) const;

 private:
  struct Place {
    int64_t offset, size;
  };
  enum class Layout : uint8_t {
    kContiguous,  // the begin of each record and the end of the last one, from `base`
    kPairs,       // begin, from `base`, and size of each record
    kWide,        // as kPairs, with two words for each number
  };
  // kBlock records that follow one another in the index, or the last ones of a shard.
  struct Block {
    int64_t base;         // the lowest offset
    uint64_t first : 62;  // of its words
    uint64_t layout : 2;
  };
  struct Shard {
    std::string path;
    int64_t begin = 0;  // its first record
    std::vector<Block> blocks;
    std::vector<uint32_t> words;
  };
  static constexpr int64_t kBlock = 64;

  void pack();

  std::vector<Shard> shards_;
  std::vector<Place> open_;  // the records of the block that is not full
  int64_t size_ = 0;
};

}  // namespace torchdali::io
