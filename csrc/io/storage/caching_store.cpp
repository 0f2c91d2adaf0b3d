// SPDX-License-Identifier: Apache-2.0
#include "io/storage/caching_store.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/error.h"
#include "core/threads/interruption.h"

namespace torchdali::io {
namespace {

// How often a thread that waits for another one looks whether it is interrupted.
constexpr auto kPeriod = std::chrono::milliseconds(50);

}  // namespace

// The right to read a whole object. Threads that come later wait, and find it in the cache.
class CachingStore::Turn {
 public:
  Turn(CachingStore& store, const std::string& url) : store_(store), url_(url) {
    std::unique_lock lock(store_.mutex_);
    while (!(first_ = store_.reading_.insert(url_).second)) {
      waited_ = true;
      store_.done_.wait_for(lock, kPeriod);
      TORCHDALI_CHECK_KIND(kRuntime, !interrupted(), "the pipeline was closed");
    }
  }
  ~Turn() {
    if (!first_) return;
    const std::lock_guard lock(store_.mutex_);
    store_.reading_.erase(url_);
    store_.done_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool waited() const { return waited_; }

 private:
  CachingStore& store_;
  const std::string& url_;
  bool first_ = false, waited_ = false;
};

SharedBytes CachingStore::read(const std::string& url, const RemoteObject& object, int64_t offset,
                               int64_t count) {
  const bool fits = offset >= 0 && count > 0 && count <= object.size - offset;
  const auto entry = fits ? cache_->open(url, object) : nullptr;
  if (entry == nullptr) return store_->read(url, object, offset, count);
  return read_entry(*entry, url, offset, count);
}

SharedBytes CachingStore::read_entry(CacheEntry& entry, const std::string& url, int64_t offset,
                                     int64_t count) {
  constexpr int64_t kPage = CacheEntry::kPage;
  const int64_t first = offset / kPage, end = (offset + count + kPage - 1) / kPage;
  const auto data = std::make_shared_for_overwrite<std::byte[]>(
      static_cast<size_t>(entry.run_bytes(first, end - first)));
  std::vector<char> missing(static_cast<size_t>(end - first), 1);
  for (;;) {
    entry.load(first, data.get(), missing);
    // The pages between two missing ones are read again: one request is cheaper than two.
    const auto begin = std::find(missing.begin(), missing.end(), 1) - missing.begin();
    if (begin == end - first) break;
    const auto last = std::find(missing.rbegin(), missing.rend(), 1).base() - missing.begin();
    const int64_t page = first + begin, pages = last - begin;
    if (!entry.claim(page, pages)) continue;
    const CacheEntry::Claim claim(entry, page, pages);
    // Another thread may have read them before the claim.
    const auto missed = std::count(missing.begin(), missing.end(), 1);
    entry.load(first, data.get(), missing);
    if (std::count(missing.begin(), missing.end(), 1) != missed) continue;
    const int64_t size = entry.run_bytes(page, pages);
    const SharedBytes bytes = store_->read(url, entry.object(), page * kPage, size);
    std::memcpy(data.get() + begin * kPage, bytes.data.get(), static_cast<size_t>(size));
    cache_->store(entry, page, pages, bytes.data.get());
    break;
  }
  return SharedBytes{data, entry.run_bytes(first, end - first)}.part(offset - first * kPage, count);
}

std::shared_ptr<CacheEntry> CachingStore::find_current(const std::string& url, uint64_t known) {
  auto entry = cache_->find(url);
  if (entry == nullptr || version_hash(entry->object()) == known) return entry;
  return version_hash(store_->stat(url)) == version_hash(entry->object()) ? entry : nullptr;
}

RemotePart CachingStore::read_whole(const std::string& url, uint64_t known) {
  const auto from_entry = [&](CacheEntry& entry) -> RemotePart {
    const RemoteObject& object = entry.object();
    return {object, object.size == 0 ? SharedBytes{std::make_shared<std::byte[]>(0), 0}
                                     : read_entry(entry, url, 0, object.size)};
  };
  if (const auto entry = find_current(url, known)) return from_entry(*entry);
  const Turn turn(*this, url);
  if (turn.waited())
    if (const auto entry = find_current(url, known)) return from_entry(*entry);
  // What came without an etag may be of a version that was asked for before, but not of a later
  // one.
  if (reads_lack_etags_) {
    const RemoteObject now = store_->stat(url);
    if (const auto entry = cache_->open(url, now)) return from_entry(*entry);
  }
  RemotePart part = store_->read_whole(url, known);
  reads_lack_etags_ = part.object.etag.empty();
  if (const auto entry = cache_->open(url, part.object))
    cache_->store(*entry, 0, entry->num_pages(), part.bytes.data.get());
  return part;
}

}  // namespace torchdali::io
