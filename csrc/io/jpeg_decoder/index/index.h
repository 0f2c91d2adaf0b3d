// SPDX-License-Identifier: Apache-2.0
// Index: the seek points of many images, in memory and, where wanted, in a file that later runs
// begin with. docs/design/jpeg_index.md.
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

// Images are known by the hash of all their bytes, so that what is found belongs to these bytes,
// wherever they come from, and to no others. Any thread.
class Index {
 public:
  // `where`: "memory", or the path of a file, which is read now and written by save(). Whoever
  // names the same one, in this process, shares it as long as anyone has it. Takes up to
  // `max_bytes`, the most that anyone gave. Raises kFile where the file is damaged, of another
  // version, or can neither be read nor written; kValue where `max_bytes` is negative.
  static std::shared_ptr<Index> open(const std::string& where, int64_t max_bytes);

  // Saves, if this is the process that opened it.
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  static uint64_t key(Bytes bytes);
  // Fills in what is known of the image.
  void find(uint64_t key, SeekPoints& to) const;
  // Keeps the points, unless more are known already, or there is no room.
  void store(uint64_t key, const SeekPoints& points);

  // Puts what the file does not have into it, beside what others have put there meanwhile. Returns
  // what failed, or nothing.
  std::string save();

  // Of the points noted by this process and what finding them takes.
  int64_t size_bytes() const { return size_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<uint64_t, StoredPoints> images;
  };
  static constexpr size_t kShards = 64;  // so that threads hardly ever meet

  explicit Index(std::string path);
  const Shard& shard(uint64_t key) const { return shards_[key % kShards]; }
  Shard& shard(uint64_t key) { return shards_[key % kShards]; }

  const std::string path_;  // empty: memory only
  const int64_t process_;
  std::unique_ptr<const IndexFile>
      file_;  // as it was when this was opened; null where there was none
  std::array<Shard, kShards> shards_;
  std::atomic<int64_t> size_bytes_ = 0, max_bytes_ = 0;
  std::mutex saving_;
  std::atomic<int64_t> unsaved_ = 0;  // images
  std::atomic<std::chrono::steady_clock::time_point> saved_;
};

}  // namespace torchdali::io::jpeg
