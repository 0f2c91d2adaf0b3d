// SPDX-License-Identifier: Apache-2.0
#include "io/video/index_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/content_hash.h"
#include "io/storage/file.h"
#include "io/user_cache.h"
#include "io/video/index_builder.h"

namespace torchdali::io::video {
namespace {

namespace fs = std::filesystem;

// Differs if the contents of the file differ; empty if that cannot be told. A copy that keeps the
// time of the last change has the same.
std::string version_of(const std::string& path, const FileBytes& bytes) {
  if (is_remote(path)) return bytes.file()->version();
  struct stat status{};
  if (::stat(std::string(local_path(path)).c_str(), &status) != 0) return {};
  return str_cat(bytes.size(), ' ', status.st_mtim.tv_sec, '.', status.st_mtim.tv_nsec);
}

// The places of the index, the best one first.
std::vector<fs::path> places_of(const std::string& path) {
  std::vector<fs::path> places;
  std::error_code error;
  std::string whole = path;
  if (!is_remote(path)) {
    const fs::path local(local_path(path));
    places.emplace_back(local.string() + ".tdvi");
    whole = fs::absolute(local, error).lexically_normal().string();
  }
  if (const fs::path cache = user_cache(); !cache.empty())
    places.push_back(cache / "index" / "video" /
                     (std::to_string(content_hash(str_cat(kIndexVersion, '\n', whole))) + ".tdvi"));
  return places;
}

std::optional<Index> load(const fs::path& place, const std::string& version, int64_t file_size) {
  std::error_code error;
  if (!fs::is_regular_file(place, error)) return std::nullopt;
  try {
    const File file(place.string());
    std::vector<uint8_t> text(static_cast<size_t>(file.size_bytes()));
    file.read(text.data(), file.size_bytes());
    return parse_index(text, version, file_size);
  } catch (const Error&) {  // it is made again
    return std::nullopt;
  }
}

// Appears as a whole or not at all, also if the process is killed.
bool store(const fs::path& place, const std::string& text) {
  static std::atomic<int> number = 0;
  std::error_code error;
  const fs::path part = str_cat(place.string(), '.', ::getpid(), '.', ++number, ".part");
  {
    std::ofstream out(part, std::ios::binary);
    if (!out) return false;
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    if (!out) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(part, place, error);
  if (!error) return true;
  fs::remove(part, error);
  return false;
}

// Indices by the version of the contents, as they are stored: a tenth of the memory that they take
// up in use.
class IndexCache {
 public:
  static IndexCache& instance() {
    static IndexCache& cache = *new IndexCache;  // threads may use it until the process ends
    return cache;
  }
  std::string find(const std::string& version) {
    const std::lock_guard lock(mutex_);
    const auto found = texts_.find(version);
    ++(found == texts_.end() ? state_.misses : state_.hits);
    return found == texts_.end() ? std::string() : found->second;
  }
  // If there is no space, it is not kept: of data sets that are larger than the cache, a part is
  // found in each epoch. To drop the oldest ones instead would drop all before their next use.
  void keep(const std::string& version, std::string text) {
    constexpr int64_t kMaxBytes = int64_t{64} << 20;
    const auto bytes = static_cast<int64_t>(version.size() + text.size() + 128);
    const std::lock_guard lock(mutex_);
    if (state_.bytes + bytes > kMaxBytes) return;
    if (!texts_.emplace(version, std::move(text)).second) return;
    state_.bytes += bytes;
    ++state_.entries;
  }
  IndexCacheState state() {
    const std::lock_guard lock(mutex_);
    return state_;
  }

 private:
  IndexCache() = default;
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> texts_;
  IndexCacheState state_;
};

}  // namespace

IndexCacheState index_cache_state() { return IndexCache::instance().state(); }

Index find_index(std::span<const uint8_t> contents, const FileBytes& bytes) {
  IndexCache& cache = IndexCache::instance();
  const std::string version = str_cat(contents.size(), ' ', content_hash(contents));
  if (const std::string text = cache.find(version); !text.empty())
    return parse_index({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, version,
                       bytes.size());
  Index index = build_index(bytes);
  cache.keep(version, serialize(index, version));
  return index;
}

Index find_index(const std::string& path, const FileBytes& bytes) {
  const std::string version = version_of(path, bytes);
  if (version.empty()) return build_index(bytes);
  const std::vector<fs::path> places = places_of(path);
  for (const fs::path& place : places)
    if (auto index = load(place, version, bytes.size())) return *std::move(index);
  Index index = build_index(bytes);
  const std::string text = serialize(index, version);
  for (const fs::path& place : places) {
    std::error_code error;
    // The folder of the file exists, that of the cache may not.
    fs::create_directories(place.parent_path(), error);
    if (store(place, text)) break;
  }
  return index;
}

}  // namespace torchdali::io::video
