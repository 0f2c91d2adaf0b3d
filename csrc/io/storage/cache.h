// SPDX-License-Identifier: Apache-2.0
// DiskCache: remote objects on a local disk, within a quota that all processes share.
// docs/design/storage.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "io/storage/cache_entry.h"

namespace torchdali::io {

// Any thread. A cache that cannot be written is used for reading, and one that cannot be read is
// empty; neither is an error.
class DiskCache {
 public:
  DiskCache(const std::string& folder, int64_t quota);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  // The entry of an object, of any version; null if there is none.
  std::shared_ptr<CacheEntry> find(const std::string& url);
  // The entry of this version, which is made if there is none. Null if it cannot be.
  std::shared_ptr<CacheEntry> open(const std::string& url, const RemoteObject& object);
  // Writes pages to an entry, if there is room: otherwise objects that no living process has used
  // are removed, the oldest first.
  void store(CacheEntry& entry, int64_t first, int64_t count, const std::byte* from);

  // Bytes of all entries, as this machine's processes count them.
  int64_t used_bytes() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::filesystem::path path_of(const std::string& url) const;
  void join();
  bool reserve(int64_t bytes);
  // Removes entries until `bytes` fit. False if that is not possible.
  bool evict(int64_t bytes);
  std::filesystem::file_time_type oldest_user() const;

  const std::filesystem::path folder_;
  const int64_t quota_;
  bool writable_ = false;
  int user_ = -1;                         // descriptor of the file that says that we live
  std::atomic<int64_t> writing_ = 0;      // reserved, and not written yet
  std::atomic<int64_t>* used_ = nullptr;  // in memory that is shared with other processes
  std::mutex evicting_;
  std::atomic<Clock::rep> not_before_ = 0;  // when storing is tried again

  std::mutex mutex_;                                                        // protects the rest
  std::list<std::pair<std::string, std::shared_ptr<CacheEntry>>> entries_;  // used last: first
  std::unordered_map<std::string_view, decltype(entries_)::iterator> by_url_;
  std::shared_ptr<CacheEntry> kept(const std::string& url);
  void keep(const std::string& url, const std::shared_ptr<CacheEntry>& entry);
};

}  // namespace torchdali::io
