// SPDX-License-Identifier: Apache-2.0
// TableChunks: loads the chunks of a table on threads of its own, and keeps those used last.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "io/tables/table.h"

namespace torchdali::io {

// Any thread. Chunks live as long as someone uses them; unused ones are kept up to `max_bytes`.
class TableChunks {
 public:
  using Chunk = std::shared_future<std::shared_ptr<const ArrowChunk>>;

  TableChunks(std::unique_ptr<Table> table, int64_t max_bytes);
  // Waits for loads in progress.
  ~TableChunks();
  TableChunks(const TableChunks&) = delete;
  TableChunks& operator=(const TableChunks&) = delete;

  // Starts to load a chunk, unless it is there. Its errors are raised by get() of the result; the
  // next call tries again.
  Chunk want(int64_t chunk);

 private:
  struct Load {
    int64_t chunk;
    std::promise<std::shared_ptr<const ArrowChunk>> result;
  };
  struct Kept {
    Chunk chunk;
    std::list<int64_t>::iterator used;
    int64_t bytes = 0;  // 0 while it is loaded
  };
  void loop();
  void start_thread();
  void drop_unused();

  const std::unique_ptr<Table> table_;
  const int64_t max_bytes_;
  std::mutex mutex_;  // protects the following
  std::condition_variable work_;
  std::deque<Load> queue_;
  std::unordered_map<int64_t, Kept> kept_;
  std::list<int64_t> used_;  // the chunk that was used last is first
  int64_t bytes_ = 0;
  int idle_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace torchdali::io
