// SPDX-License-Identifier: Apache-2.0
// CacheEntry: the pages of one remote object that are in a file of the cache.
// docs/design/storage.md has the format.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/storage/transport.h"

namespace torchdali::io {

// Any thread; other processes may use the same file. A page is there if its hash is that of the
// table, so pages that were half written, or that the disk has damaged, are missing ones.
class CacheEntry {
 public:
  static constexpr int64_t kPage = int64_t{64} << 10;

  // Opens an entry. Null if there is none, or if it is of another URL.
  static std::shared_ptr<CacheEntry> open(const std::string& path, const std::string& url,
                                          bool writable);
  // Makes an empty entry, in place of one of another version. Null if that fails.
  static std::shared_ptr<CacheEntry> create(const std::string& path, const std::string& url,
                                            const RemoteObject& object);
  ~CacheEntry();
  CacheEntry(const CacheEntry&) = delete;
  CacheEntry& operator=(const CacheEntry&) = delete;

  const RemoteObject& object() const { return object_; }
  int64_t num_pages() const { return (object_.size + kPage - 1) / kPage; }
  // Bytes of a run of pages; the last page of an object may be shorter.
  int64_t run_bytes(int64_t first, int64_t count) const;
  // Reads pages into `to`; clears missing[i] for those that were stored. Looks only at those whose
  // missing[i] is set.
  void load(int64_t first, std::byte* to, std::vector<char>& missing) const;
  // Writes pages. False if the disk refuses.
  bool store(int64_t first, int64_t count, const std::byte* from);

  // The right to fetch some pages, which one thread of all processes has.
  class Claim {
   public:
    Claim(CacheEntry& entry, int64_t first, int64_t count) noexcept
        : entry_(&entry), first_(first), count_(count) {}
    Claim(Claim&& other) noexcept
        : entry_(std::exchange(other.entry_, nullptr)),
          first_(other.first_),
          count_(other.count_) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() {
      if (entry_ != nullptr) entry_->release(first_, count_);
    }

   private:
    CacheEntry* entry_;
    int64_t first_, count_;
  };
  // Whether this thread got the pages at once. Otherwise it has waited for another thread, and
  // they may be in the cache now. Raises if the thread is interrupted.
  bool claim(int64_t first, int64_t count);

 private:
  CacheEntry(int descriptor, RemoteObject object, int64_t table, int64_t data)
      : descriptor_(descriptor), object_(std::move(object)), table_(table), data_(data) {}
  void release(int64_t first, int64_t count) noexcept;
  // Of other processes. True if it is not known whether they fetch the pages.
  bool lock_pages(int64_t first, int64_t count, bool lock) const noexcept;

  const int descriptor_;
  const RemoteObject object_;
  const int64_t table_, data_;  // offsets of the hashes and the pages
  std::mutex mutex_;
  std::condition_variable released_;
  std::vector<std::pair<int64_t, int64_t>> claims_;  // first page, number of pages
};

}  // namespace torchdali::io
