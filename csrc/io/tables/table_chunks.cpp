// SPDX-License-Identifier: Apache-2.0
#include "io/tables/table_chunks.h"

#include <pthread.h>

#include <exception>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace torchdali::io {
namespace {

// A load uses several threads itself where that pays.
constexpr size_t kMaxThreads = 2;

struct OpenerOfProcess {
  std::unique_ptr<TableOpener> opener;
};

OpenerOfProcess& opener_of_process() {
  static auto* instance = new OpenerOfProcess;  // threads may use it while the process exits
  return *instance;
}

}  // namespace

TableOpener* table_opener() { return opener_of_process().opener.get(); }

void set_table_opener(std::unique_ptr<TableOpener> opener) {
  opener_of_process().opener = std::move(opener);
}

TableChunks::TableChunks(std::unique_ptr<Table> table, int64_t max_bytes)
    : table_(std::move(table)), max_bytes_(max_bytes) {}

TableChunks::~TableChunks() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    queue_.clear();
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

TableChunks::Chunk TableChunks::want(int64_t chunk) {
  const std::lock_guard lock(mutex_);
  if (const auto found = kept_.find(chunk); found != kept_.end()) {
    used_.splice(used_.begin(), used_, found->second.used);
    return found->second.chunk;
  }
  if (idle_ == 0 && threads_.size() < kMaxThreads) start_thread();
  Load load{.chunk = chunk, .result = {}};
  Chunk result = load.result.get_future().share();
  used_.push_front(chunk);
  kept_.emplace(chunk, Kept{.chunk = result, .used = used_.begin()});
  queue_.push_back(std::move(load));
  work_.notify_one();
  return result;
}

void TableChunks::start_thread() {
  try {
    threads_.emplace_back([this] { loop(); });
    pthread_setname_np(threads_.back().native_handle(), "torchdali-table");
  } catch (const std::system_error& e) {
    TORCHDALI_CHECK_KIND(kRuntime, !threads_.empty(),
                         "cannot start a thread that loads tables: ", e.what());
  }
}

// The caller holds the mutex.
void TableChunks::drop_unused() {
  for (auto at = used_.end(); bytes_ > max_bytes_ && at != used_.begin();) {
    --at;
    const auto kept = kept_.find(*at);
    if (kept->second.bytes == 0) continue;  // being loaded, or takes no memory
    bytes_ -= kept->second.bytes;
    kept_.erase(kept);
    at = used_.erase(at);
  }
}

void TableChunks::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    work_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    --idle_;
    if (closing_) return;
    Load load = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    std::shared_ptr<const ArrowChunk> chunk;
    std::exception_ptr error;
    try {
      chunk = table_->load(load.chunk);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (const auto kept = kept_.find(load.chunk); kept != kept_.end()) {
      if (error) {  // the next one who wants it tries again
        used_.erase(kept->second.used);
        kept_.erase(kept);
      } else {
        kept->second.bytes = chunk->size_bytes();
        bytes_ += kept->second.bytes;
      }
    }
    drop_unused();
    lock.unlock();
    if (error) load.result.set_exception(error);
    else load.result.set_value(std::move(chunk));
    lock.lock();
  }
}

}  // namespace torchdali::io
