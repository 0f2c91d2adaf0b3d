// SPDX-License-Identifier: Apache-2.0
// Index: the seek points of many images, in memory and optionally in a file for later runs.
// docs/design/jpeg_index.md.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "io/image.h"
#include "io/jpeg_decoder/index/file.h"
#include "io/jpeg_decoder/index/seek_points.h"

namespace torchdali::io::jpeg {

// The key of an image is the hash of all its bytes, so an entry always belongs to exactly these
// bytes, whatever their source. Any thread.
class Index {
 public:
  // `where`: "memory"; the path of a file, which is read now and written by save(), or of a folder
  // that has or gets such a file; or "cache", a file in user_cache() if that can be written. Within
  // a process, all users of the same file share one index. It takes up to `max_bytes` of memory,
  // the largest value of all users. Raises kFile if the file is damaged, has another version, or
  // can neither be read nor written; kValue if `max_bytes` is negative.
  static std::shared_ptr<Index> open(const std::string& where, int64_t max_bytes);

  // Saves if this process opened it.
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  static uint64_t key(Bytes bytes);
  // Fills in the known points of an image.
  void find(uint64_t key, SeekPoints& to) const;
  // Stores the points, unless more are already known or memory is full.
  void store(uint64_t key, const SeekPoints& points);

  // Adds new points to the file, and keeps those that other processes have added. Returns what
  // failed, or an empty string.
  std::string save();

  // Memory of the points of this process, with the table.
  int64_t size_bytes() const { return size_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<uint64_t, StoredPoints> images;
  };
  static constexpr size_t kShards = 64;  // so that threads rarely contend

  explicit Index(std::string path);
  const Shard& shard(uint64_t key) const { return shards_[key % kShards]; }
  Shard& shard(uint64_t key) { return shards_[key % kShards]; }

  const std::string path_;  // empty: memory only
  const int64_t process_;
  std::unique_ptr<const IndexFile> file_;  // as of opening; null if there was none
  std::array<Shard, kShards> shards_;
  std::atomic<int64_t> size_bytes_ = 0, max_bytes_ = 0;
  std::mutex saving_;
  std::atomic<int64_t> unsaved_ = 0;  // images
  std::atomic<std::chrono::steady_clock::time_point> saved_;
};

}  // namespace torchdali::io::jpeg
