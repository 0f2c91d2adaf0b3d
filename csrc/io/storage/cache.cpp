// SPDX-License-Identifier: Apache-2.0
#include "io/storage/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "io/content_hash.h"

namespace torchdali::io {
namespace {

namespace fs = std::filesystem;

constexpr size_t kOpenEntries = 128;
// An eviction makes so much room that the next one is not soon.
constexpr double kKeptShare = 0.9;
// After a disk was full, or all objects were in use.
constexpr auto kPause = std::chrono::seconds(10);
// What an entry takes beside its pages.
constexpr int64_t kBlock = 4096;

int64_t blocks(int64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

int open_file(const fs::path& path, int flags) {
  return ::open(path.c_str(), flags | O_CLOEXEC, 0666);
}

// Disk space of a file; -1 if it is gone.
int64_t disk_bytes(const fs::path& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? status.st_blocks * 512 : -1;
}

// A lock of the whole cache. If it is taken, there is no waiting.
class TryLock {
 public:
  explicit TryLock(const fs::path& path) : descriptor_(open_file(path, O_RDWR | O_CREAT)) {
    held_ = descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  }
  ~TryLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  TryLock(const TryLock&) = delete;
  TryLock& operator=(const TryLock&) = delete;
  explicit operator bool() const { return held_; }

 private:
  int descriptor_;
  bool held_;
};

struct Stored {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes;
};

// All files of entries, and those that a killed process has left.
std::vector<Stored> list_entries(const fs::path& folder) {
  std::vector<Stored> found;
  std::error_code error;
  for (const auto& part : fs::directory_iterator(folder, error)) {
    if (part.path().filename().string().size() != 2) continue;
    for (const auto& file : fs::directory_iterator(part.path(), error)) {
      const auto used = file.last_write_time(error);
      const int64_t bytes = disk_bytes(file.path());
      if (!error && bytes >= 0) found.push_back({file.path(), used, bytes});
      error.clear();
    }
  }
  return found;
}

}  // namespace

DiskCache::DiskCache(const std::string& folder, int64_t quota)
    : folder_(fs::path(folder) / "objects"), quota_(quota) {
  std::error_code error;
  fs::create_directories(folder_ / "users", error);
  join();
}

DiskCache::~DiskCache() {
  if (used_ != nullptr) ::munmap(used_, sizeof *used_);
  if (user_ >= 0) ::close(user_);
}

void DiskCache::join() {
  static std::atomic<int> counter = 0;
  const std::string name =
      str_cat(::getpid(), "-", counter++, "-", Clock::now().time_since_epoch().count());
  // It gets its name when it is locked: an unlocked one is of a process that has ended.
  const fs::path part = folder_ / (name + ".part"), whole = folder_ / "users" / name;
  user_ = open_file(part, O_RDWR | O_CREAT | O_EXCL);
  if (user_ < 0) return;
  if (::flock(user_, LOCK_EX | LOCK_NB) != 0 || std::rename(part.c_str(), whole.c_str()) != 0) {
    ::unlink(part.c_str());
    return;
  }
  const fs::path path = folder_ / "used";
  const int counters = open_file(path, O_RDWR | O_CREAT);
  if (counters < 0) return;
  struct stat status;
  const bool is_new = ::fstat(counters, &status) == 0 && status.st_size < 8;
  if (::ftruncate(counters, sizeof(int64_t)) == 0) {
    void* memory =
        ::mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, counters, 0);
    static_assert(sizeof(std::atomic<int64_t>) == sizeof(int64_t) &&
                  std::atomic<int64_t>::is_always_lock_free);
    if (memory != MAP_FAILED) used_ = static_cast<std::atomic<int64_t>*>(memory);
  }
  ::close(counters);
  writable_ = used_ != nullptr;
  if (is_new && writable_) evict(0);  // counts
}

fs::path DiskCache::path_of(const std::string& url) const {
  const uint64_t hash = content_hash(url);
  std::array<char, 20> digits;
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  const std::string_view text(digits.data(), 16);
  return folder_ / text.substr(0, 2) / text.substr(2);
}

std::shared_ptr<CacheEntry> DiskCache::kept(const std::string& url) {
  const std::lock_guard lock(mutex_);
  const auto found = by_url_.find(url);
  if (found == by_url_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

void DiskCache::keep(const std::string& url, const std::shared_ptr<CacheEntry>& entry) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_url_.find(url); found != by_url_.end()) {
    found->second->second = entry;
    return;
  }
  entries_.emplace_front(url, entry);
  by_url_.emplace(entries_.front().first, entries_.begin());
  if (entries_.size() > kOpenEntries) {
    by_url_.erase(entries_.back().first);
    entries_.pop_back();
  }
}

std::shared_ptr<CacheEntry> DiskCache::find(const std::string& url) {
  if (auto entry = kept(url)) return entry;
  auto entry = CacheEntry::open(path_of(url).string(), url, writable_);
  if (entry != nullptr) keep(url, entry);
  return entry;
}

std::shared_ptr<CacheEntry> DiskCache::open(const std::string& url, const RemoteObject& object) {
  const auto is_it = [&](const std::shared_ptr<CacheEntry>& entry) {
    return entry != nullptr && entry->object().size == object.size &&
           entry->object().etag == object.etag;
  };
  if (object.etag.empty()) return nullptr;
  if (auto entry = find(url); is_it(entry)) return entry;
  const int64_t table = object.size / CacheEntry::kPage * 8;
  if (!writable_ || object.size < 0 || !reserve(blocks(kBlock + table))) return nullptr;
  const fs::path path = path_of(url);
  std::error_code error;
  fs::create_directory(path.parent_path(), error);
  auto entry = CacheEntry::create(path.string(), url, object);
  writing_ -= blocks(kBlock + table);
  if (is_it(entry)) keep(url, entry);
  return is_it(entry) ? entry : nullptr;
}

void DiskCache::store(CacheEntry& entry, int64_t first, int64_t count, const std::byte* from) {
  if (!writable_ || count == 0) return;
  const int64_t bytes = blocks(entry.run_bytes(first, count));
  if (!reserve(bytes)) return;
  const bool stored = entry.store(first, count, from);
  writing_ -= bytes;
  if (stored) return;
  used_->fetch_sub(bytes);  // the disk is full
  not_before_ = (Clock::now() + kPause).time_since_epoch().count();
}

int64_t DiskCache::used_bytes() const { return used_ == nullptr ? 0 : used_->load(); }

bool DiskCache::reserve(int64_t bytes) {
  if (Clock::now().time_since_epoch().count() < not_before_) return false;
  const auto fits = [&] {
    writing_ += bytes;
    int64_t used = used_->load();
    while (used + bytes <= quota_)
      if (used_->compare_exchange_weak(used, used + bytes)) return true;
    writing_ -= bytes;
    return false;
  };
  if (bytes > quota_) return false;
  if (fits()) return true;
  if (!evict(bytes)) {
    not_before_ = (Clock::now() + kPause).time_since_epoch().count();
    return false;
  }
  return fits();
}

fs::file_time_type DiskCache::oldest_user() const {
  auto oldest = fs::file_time_type::max();
  std::error_code error;
  for (const auto& user : fs::directory_iterator(folder_ / "users", error)) {
    const int file = open_file(user.path(), O_RDWR);
    if (file < 0) continue;
    const bool ended = ::flock(file, LOCK_EX | LOCK_NB) == 0;
    if (ended) ::unlink(user.path().c_str());
    ::close(file);
    const auto since = user.last_write_time(error);
    if (!ended && !error) oldest = std::min(oldest, since);
    error.clear();
  }
  return oldest;
}

// A process uses the objects that it has opened since it began, whether they are open or not: small
// ones are opened for each read. In a cyclic order, as of epochs, an object that is removed because
// it was used longest ago is the one that comes next.
bool DiskCache::evict(int64_t bytes) {
  const std::unique_lock own(evicting_, std::try_to_lock);
  if (!own.owns_lock()) return false;
  const TryLock lock(folder_ / "lock");
  if (!lock) return false;
  // Before the files are counted: what was reserved and is not written yet belongs to the total,
  // and so does what is reserved meanwhile.
  const int64_t seen = used_->load(), writing = writing_.load();
  const auto protected_since = oldest_user();
  std::vector<Stored> entries = list_entries(folder_);
  std::sort(entries.begin(), entries.end(),
            [](const Stored& a, const Stored& b) { return a.used < b.used; });
  int64_t total = writing;
  for (const Stored& e : entries) total += e.bytes;
  const auto goal = static_cast<int64_t>(kKeptShare * static_cast<double>(quota_)) - bytes;
  if (total > quota_ - bytes) {
    for (const Stored& e : entries) {
      if (total <= goal || e.used >= protected_since) break;
      if (::unlink(e.path.c_str()) == 0) total -= e.bytes;
    }
  }
  used_->fetch_add(total - seen);  // corrects what crashes and damaged files have made wrong
  return total <= quota_ - bytes;
}

}  // namespace torchdali::io
