// SPDX-License-Identifier: Apache-2.0
#include "io/records/index_files.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "core/error.h"
#include "io/content_hash.h"
#include "io/records/parallel_files.h"
#include "io/records/progress.h"
#include "io/storage/file.h"
#include "io/user_cache.h"

namespace torchdali::io {
namespace {

namespace fs = std::filesystem;

std::string hex(uint64_t number) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), number, 16).ptr;
  return {digits.begin(), end};
}

// Empty if there is none.
fs::path cache_folder(const IndexKind& kind) {
  const fs::path cache = user_cache();
  return cache.empty() ? cache : cache / "index" / kind.name;
}

// The place of an index in the cache. Empty if the contents of `file` cannot be told from later
// ones.
fs::path cached_path(const IndexKind& kind, const std::string& path, const InputFile& file) {
  const std::string version = file.version();
  const fs::path folder = cache_folder(kind);
  if (version.empty() || folder.empty()) return {};
  std::error_code error;
  const std::string whole =
      is_remote(path) ? path : fs::absolute(local_path(path), error).lexically_normal().string();
  return folder / hex(content_hash(str_cat(kind.version, '\n', whole, '\n', version)));
}

// An entry is the hash of the index and the index. Nothing if it is missing or damaged.
std::optional<std::string> load(const fs::path& entry) {
  try {
    const File file(entry.string());
    uint64_t hash = 0;
    const int64_t size = file.size_bytes() - static_cast<int64_t>(sizeof hash);
    if (size < 0) return std::nullopt;
    file.read(&hash, sizeof hash);
    std::string text(static_cast<size_t>(size), '\0');
    file.read(text.data(), size, sizeof hash);
    if (content_hash(text) == hash) return text;
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it is made again
  }
  return std::nullopt;
}

// Appears as a whole or not at all, also if the process is killed.
void store(const fs::path& entry, const std::string& text) {
  std::error_code error;
  fs::create_directories(entry.parent_path(), error);
  const fs::path part = entry.string() + "." + std::to_string(::getpid()) + ".part";
  {
    std::ofstream out(part, std::ios::binary);
    const uint64_t hash = content_hash(text);
    out.write(reinterpret_cast<const char*>(&hash), sizeof hash);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!out.flush()) {
      out.close();
      fs::remove(part, error);
      return;
    }
  }
  fs::rename(part, entry, error);
  if (error) fs::remove(part, error);
}

void indexes(const IndexKind& kind, std::span<const std::string> paths, bool cached,
             const TakeIndex& take) {
  std::vector<fs::path> entries(paths.size());
  std::vector<char> missing(paths.size(), 1);
  std::atomic<int64_t> bytes = 0, number = 0;
  for_each_file(paths.size(), [&](size_t i, const std::atomic<bool>&) {
    auto file = open_input(paths[i]);
    if (cached) entries[i] = cached_path(kind, paths[i], *file);
    if (!entries[i].empty())
      if (auto text = load(entries[i])) {
        take(i, *std::move(text));
        missing[i] = 0;
        return;
      }
    bytes += file->size_bytes();
    ++number;
  });
  if (number == 0) return;

  Progress progress("indexing " + std::string(kind.name) + " files", number, bytes);
  for_each_file(paths.size(), [&](size_t i, const std::atomic<bool>& cancelled) {
    if (missing[i] == 0) return;
    const auto file = open_input(paths[i]);
    std::string text = kind.make(*file, paths[i], [&](int64_t done) {
      TORCHDALI_CHECK_KIND(kRuntime, !cancelled, "cancelled");
      progress.add_bytes(done);
    });
    if (!entries[i].empty()) store(entries[i], text);
    take(i, std::move(text));
    progress.add_file();
  });
}

}  // namespace

void make_indexes(const IndexKind& kind, std::span<const std::string> paths,
                  const TakeIndex& take) {
  indexes(kind, paths, false, take);
}

void find_indexes(const IndexKind& kind, std::span<const std::string> paths,
                  const TakeIndex& take) {
  indexes(kind, paths, true, take);
}

}  // namespace torchdali::io
