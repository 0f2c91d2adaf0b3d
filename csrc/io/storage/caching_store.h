// SPDX-License-Identifier: Apache-2.0
// CachingStore: a RemoteStore that keeps what it reads in a DiskCache.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/storage/cache.h"
#include "io/storage/remote_store.h"

namespace torchdali::io {

// Objects without an etag are not kept.
class CachingStore final : public RemoteStore {
 public:
  CachingStore(std::shared_ptr<RemoteStore> store, std::shared_ptr<DiskCache> cache)
      : store_(std::move(store)), cache_(std::move(cache)) {}

  RemoteObject stat(const std::string& url) override { return store_->stat(url); }
  SharedBytes read(const std::string& url, const RemoteObject& object, int64_t offset,
                   int64_t count) override;
  RemotePart read_whole(const std::string& url, uint64_t known) override;
  bool has_cache() const override { return true; }
  std::vector<std::string> list(const std::string& folder) override { return store_->list(folder); }

 private:
  class Turn;
  SharedBytes read_entry(CacheEntry& entry, const std::string& url, int64_t offset, int64_t count);
  // The entry, if it has the contents of now.
  std::shared_ptr<CacheEntry> find_current(const std::string& url, uint64_t known);

  const std::shared_ptr<RemoteStore> store_;
  const std::shared_ptr<DiskCache> cache_;
  // The libraries of some stores tell etags only when they are asked for.
  std::atomic<bool> reads_lack_etags_ = false;
  std::mutex mutex_;
  std::condition_variable done_;
  std::set<std::string> reading_;  // whole objects that are not in the cache
};

}  // namespace torchdali::io
