// SPDX-License-Identifier: Apache-2.0
#include "io/storage/cache_entry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

#include "core/error.h"
#include "core/threads/interruption.h"
#include "io/content_hash.h"

namespace torchdali::io {
namespace {

constexpr std::array<char, 8> kMagic = {'t', 'd', 'c', 'a', 'c', 'h', 'e', '1'};
constexpr uint32_t kMostText = 1 << 16;
// How long a thread waits for another process, which may be stopped.
constexpr auto kLongestWait = std::chrono::seconds(30);
constexpr auto kPoll = std::chrono::milliseconds(5);
// How often a thread that waits for another one looks whether it is interrupted.
constexpr auto kSlice = std::chrono::milliseconds(50);

// The begin of a file; URL and etag follow. `hash` is of what comes after it.
struct Header {
  std::array<char, 8> magic;
  uint64_t hash;
  int64_t size;
  uint32_t url_size, etag_size;
};
static_assert(sizeof(Header) == 32);
constexpr size_t kHashed = offsetof(Header, size);

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

uint64_t hash_bytes(const void* data, size_t size) {
  return content_hash({static_cast<const uint8_t*>(data), size});
}

// 0 is for pages that are not there.
uint64_t page_hash(const std::byte* page, int64_t size) {
  return std::max<uint64_t>(hash_bytes(page, static_cast<size_t>(size)), 1);
}

bool read_at(int descriptor, void* to, int64_t count, int64_t offset) {
  auto* bytes = static_cast<std::byte*>(to);
  while (count > 0) {
    const ssize_t got = ::pread(descriptor, bytes, static_cast<size_t>(count), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= got;
    offset += got;
  }
  return true;
}

bool write_at(int descriptor, const void* from, int64_t count, int64_t offset) {
  const auto* bytes = static_cast<const std::byte*>(from);
  while (count > 0) {
    const ssize_t done = ::pwrite(descriptor, bytes, static_cast<size_t>(count), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes += done;
    count -= done;
    offset += done;
  }
  return true;
}

std::string header_text(const std::string& url, const RemoteObject& object) {
  Header header{.magic = kMagic,
                .hash = 0,
                .size = object.size,
                .url_size = static_cast<uint32_t>(url.size()),
                .etag_size = static_cast<uint32_t>(object.etag.size())};
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  text += url;
  text += object.etag;
  header.hash = hash_bytes(text.data() + kHashed, text.size() - kHashed);
  std::memcpy(text.data(), &header, sizeof header);
  return text;
}

struct Places {
  int64_t table, data, end;
};

Places places(size_t header_bytes, int64_t size) {
  const int64_t pages = (size + CacheEntry::kPage - 1) / CacheEntry::kPage;
  const int64_t table = round_up(static_cast<int64_t>(header_bytes), 8);
  const int64_t data = round_up(table + 8 * pages, 4096);
  return {table, data, data + size};
}

struct FileDescriptor {
  explicit FileDescriptor(int n) : number(n) {}
  ~FileDescriptor() {
    if (number >= 0) ::close(number);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int release() { return std::exchange(number, -1); }
  int number;
};

}  // namespace

std::shared_ptr<CacheEntry> CacheEntry::open(const std::string& path, const std::string& url,
                                             bool writable) {
  FileDescriptor file(::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  Header header;
  struct stat status;
  if (file.number < 0 || !read_at(file.number, &header, sizeof header, 0) ||
      header.magic != kMagic || header.url_size != url.size() || header.etag_size > kMostText ||
      header.size < 0 || ::fstat(file.number, &status) != 0 || status.st_size < header.size)
    return nullptr;
  std::string text(sizeof header + header.url_size + header.etag_size, '\0');
  if (!read_at(file.number, text.data(), static_cast<int64_t>(text.size()), 0) ||
      hash_bytes(text.data() + kHashed, text.size() - kHashed) != header.hash ||
      std::string_view(text).substr(sizeof header, url.size()) != url)
    return nullptr;
  const Places at = places(text.size(), header.size);
  if (status.st_size != at.end) return nullptr;
  // The time of the last use, for eviction.
  if (writable) ::futimens(file.number, nullptr);
  RemoteObject object{.size = header.size, .etag = text.substr(sizeof header + url.size())};
  return std::shared_ptr<CacheEntry>(
      new CacheEntry(file.release(), std::move(object), at.table, at.data));
}

std::shared_ptr<CacheEntry> CacheEntry::create(const std::string& path, const std::string& url,
                                               const RemoteObject& object) {
  if (url.size() > kMostText || object.etag.size() > kMostText) return nullptr;
  static std::atomic<int> counter = 0;
  const std::string part = str_cat(path, ".", ::getpid(), ".", counter++, ".part");
  FileDescriptor file(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.number < 0) return nullptr;
  const std::string header = header_text(url, object);
  const Places at = places(header.size(), object.size);
  const bool made = write_at(file.number, header.data(), static_cast<int64_t>(header.size()), 0) &&
                    ::ftruncate(file.number, at.end) == 0;
  // Appears as a whole. If another process was faster with the same version, its entry is used.
  if (made && ::link(part.c_str(), path.c_str()) != 0 && errno == EEXIST) {
    auto other = open(path, url, true);
    if (other != nullptr && other->object_.etag == object.etag &&
        other->object_.size == object.size) {
      ::unlink(part.c_str());
      return other;
    }
    if (std::rename(part.c_str(), path.c_str()) == 0)
      return std::shared_ptr<CacheEntry>(new CacheEntry(file.release(), object, at.table, at.data));
  }
  ::unlink(part.c_str());
  struct stat status;
  if (!made || ::fstat(file.number, &status) != 0 || status.st_nlink == 0) return nullptr;
  return std::shared_ptr<CacheEntry>(new CacheEntry(file.release(), object, at.table, at.data));
}

CacheEntry::~CacheEntry() { ::close(descriptor_); }

int64_t CacheEntry::run_bytes(int64_t first, int64_t count) const {
  return std::min((first + count) * kPage, object_.size) - first * kPage;
}

void CacheEntry::load(int64_t first, std::byte* to, std::vector<char>& missing) const {
  const auto count = static_cast<int64_t>(missing.size());
  std::vector<uint64_t> hashes(missing.size());
  if (!read_at(descriptor_, hashes.data(), 8 * count, table_ + 8 * first)) return;
  const auto is_stored = [&](int64_t i) {
    return missing[static_cast<size_t>(i)] != 0 && hashes[static_cast<size_t>(i)] != 0;
  };
  for (int64_t i = 0; i < count; ++i) {
    if (!is_stored(i)) continue;
    int64_t end = i + 1;
    while (end < count && is_stored(end)) ++end;
    if (read_at(descriptor_, to + i * kPage, run_bytes(first + i, end - i),
                data_ + (first + i) * kPage))
      for (int64_t k = i; k < end; ++k)
        if (page_hash(to + k * kPage, run_bytes(first + k, 1)) == hashes[static_cast<size_t>(k)])
          missing[static_cast<size_t>(k)] = 0;
    i = end;
  }
}

bool CacheEntry::store(int64_t first, int64_t count, const std::byte* from) {
  if (!write_at(descriptor_, from, run_bytes(first, count), data_ + first * kPage)) return false;
  std::vector<uint64_t> hashes;
  hashes.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    hashes.push_back(page_hash(from + i * kPage, run_bytes(first + i, 1)));
  return write_at(descriptor_, hashes.data(), 8 * count, table_ + 8 * first);
}

bool CacheEntry::lock_pages(int64_t first, int64_t count, bool lock) const noexcept {
  struct flock region{};
  region.l_type = lock ? F_WRLCK : F_UNLCK;
  region.l_whence = SEEK_SET;
  region.l_start = first;
  region.l_len = count;
  return ::fcntl(descriptor_, F_OFD_SETLK, &region) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool CacheEntry::claim(int64_t first, int64_t count) {
  const auto overlaps = [&](const std::pair<int64_t, int64_t>& other) {
    return first < other.first + other.second && other.first < first + count;
  };
  const auto check = [] {
    TORCHDALI_CHECK_KIND(kRuntime, !interrupted(), "the pipeline was closed");
  };
  std::unique_lock lock(mutex_);
  if (std::any_of(claims_.begin(), claims_.end(), overlaps)) {
    while (std::any_of(claims_.begin(), claims_.end(), overlaps)) {
      released_.wait_for(lock, kSlice);
      check();
    }
    return false;
  }
  claims_.emplace_back(first, count);
  lock.unlock();
  if (lock_pages(first, count, true)) return true;
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  try {
    while (!lock_pages(first, count, true)) {
      if (std::chrono::steady_clock::now() > end) return true;
      std::this_thread::sleep_for(kPoll);
      check();
    }
  } catch (const Error&) {
    release(first, count);
    throw;
  }
  release(first, count);
  return false;
}

void CacheEntry::release(int64_t first, int64_t count) noexcept {
  lock_pages(first, count, false);
  const std::lock_guard lock(mutex_);
  std::erase(claims_, std::pair(first, count));
  released_.notify_all();
}

}  // namespace torchdali::io
