// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/index/index.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/content_hash.h"
#include "io/jpeg_decoder/index/lock.h"
#include "io/user_cache.h"

namespace torchdali::io::jpeg {
namespace {

using Clock = std::chrono::steady_clock;

// Memory of an image besides its points: a node of the table and a reference count, with the
// overhead of the allocator (glibc).
constexpr int64_t kImageBytes = 112;
// In a folder.
constexpr const char* kFileName = "torchdali-jpeg.index";
// A run that is killed loses at most the points of this period.
constexpr auto kSaveEvery = std::chrono::minutes(10);

int64_t bytes_of(uint32_t points) { return int64_t{points} * int64_t{sizeof(SeekPoint)}; }

// In a forked child the parent's mutex may stay locked forever, so the child has its own.
struct Registry {
  std::mutex mutex;
  std::map<std::pair<int64_t, std::string>, std::weak_ptr<Index>> indexes;
};
Registry& registry() {
  static auto* const r = new Registry;  // outlives objects that are destroyed at exit
  return *r;
}

// Empty if there is none that can be written.
std::string path_in_cache() {
  namespace fs = std::filesystem;
  const fs::path cache = user_cache();
  if (cache.empty()) return {};
  // Of one version, since a file of another one is refused.
  const fs::path folder = cache / "index" / ("jpeg-" + std::to_string(IndexFile::kVersion));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || ::access(folder.c_str(), W_OK) != 0) return {};
  return folder / kFileName;
}

// Empty: memory only.
std::string path_of(const std::string& where) {
  namespace fs = std::filesystem;
  if (where == "memory") return {};
  if (where == "cache") return path_in_cache();
  std::error_code error;
  const bool is_folder = fs::is_directory(where, error);
  const fs::path file = is_folder ? fs::path(where) / kFileName : fs::path(where);
  const fs::path path = fs::weakly_canonical(file, error);
  return error ? file : path;
}

}  // namespace

std::shared_ptr<Index> Index::open(const std::string& where, int64_t max_bytes) {
  TORCHDALI_CHECK(max_bytes >= 0, "`jpeg_index_size` is ", max_bytes, ", expected 0 or more");
  const std::string path = path_of(where);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.indexes, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Index>& known = all.indexes[{::getpid(), path}];
  std::shared_ptr<Index> index = known.lock();
  if (!index) {
    index.reset(new Index(path));
    known = index;
  }
  index->max_bytes_ = std::max(index->max_bytes_.load(), max_bytes);
  return index;
}

Index::Index(std::string path)
    : path_(std::move(path)), process_(::getpid()), saved_(Clock::now()) {
  if (path_.empty()) return;
  file_ = IndexFile::open(path_);
  if (file_) return;  // if it cannot be written later, it is still useful
  const std::string failure = IndexFile::write(path_, nullptr, {});
  TORCHDALI_CHECK_KIND(kFile, failure.empty(), "`jpeg_index`: ", failure,
                       to_fix("give a path in a folder that may be written to, or \"memory\""));
}

Index::~Index() {
  // Destructors must not raise.
  if (const std::string failure = save(); !failure.empty())
    std::fprintf(stderr, "torchdali: `jpeg_index` is not saved: %s\n", failure.c_str());
}

uint64_t Index::key(Bytes bytes) { return content_hash(bytes); }

void Index::find(uint64_t key, SeekPoints& to) const {
  {
    const Shard& in = shard(key);
    const std::lock_guard lock(in.mutex);
    if (const auto found = in.images.find(key); found != in.images.end()) {
      to.known = std::min<size_t>(found->second.count, to.points.size());
      std::copy_n(found->second.points.get(), to.known, to.points.data());
      return;
    }
  }
  if (file_) file_->find(key, to);
}

void Index::store(uint64_t key, const SeekPoints& points) {
  const auto count = static_cast<uint32_t>(points.known);
  StoredPoints stored{.points = nullptr, .count = count};
  {
    // NOLINTNEXTLINE(modernize-avoid-c-arrays): as StoredPoints holds them
    auto copy = std::make_shared_for_overwrite<SeekPoint[]>(count);
    std::copy_n(points.points.data(), count, copy.get());
    stored.points = std::move(copy);
  }
  {
    Shard& in = shard(key);
    const std::lock_guard lock(in.mutex);
    const auto found = in.images.find(key);
    const bool is_new = found == in.images.end();
    if (!is_new && found->second.count >= count) return;
    const int64_t more = bytes_of(count) + (is_new ? kImageBytes : -bytes_of(found->second.count));
    if (size_bytes_.fetch_add(more) + more > max_bytes_) {
      size_bytes_ -= more;
      return;
    }
    if (is_new) in.images.emplace(key, std::move(stored));
    else found->second.points.swap(stored.points), found->second.count = count;
  }
  ++unsaved_;
  if (!path_.empty() && Clock::now() - saved_.load(std::memory_order_relaxed) > kSaveEvery)
    (void)save();  // a failure here is reported at the end
}

std::string Index::save() {
  if (path_.empty() || process_ != ::getpid()) return {};
  const std::unique_lock saving(saving_, std::try_to_lock);
  if (!saving) return {};  // another thread is saving
  saved_ = Clock::now();
  const int64_t unsaved = unsaved_.load();
  if (unsaved == 0) return {};
  std::vector<std::pair<uint64_t, StoredPoints>> images;
  for (const Shard& s : shards_) {
    const std::lock_guard lock(s.mutex);
    images.insert(images.end(), s.images.begin(), s.images.end());
  }
  std::sort(images.begin(), images.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  const IndexLock lock(path_);
  // Other processes have written since; a damaged file is replaced.
  std::unique_ptr<const IndexFile> old;
  try {
    old = IndexFile::open(path_);
  } catch (const Error&) {
    old = nullptr;
  }
  std::string failure = IndexFile::write(path_, old.get(), images);
  if (failure.empty()) unsaved_ -= unsaved;
  return failure;
}

}  // namespace torchdali::io::jpeg
