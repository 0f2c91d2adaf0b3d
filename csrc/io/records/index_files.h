// SPDX-License-Identifier: Apache-2.0
// Indexes of container files, which are made when they are missing, and kept in the user's cache.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/storage/input_file.h"

namespace torchdali::io {

// A kind of container. Its index is text, in the format that DALI's tool for it writes.
struct IndexKind {
  std::string_view name;  // "webdataset"; also of the folder in the cache
  int version = 1;        // of the text; indexes of another version are made again
  // Makes the index of a file. `done(bytes)` reports how much of it was looked at since the last
  // call. Raises kData with the file's path and the offset.
  std::function<std::string(const InputFile& file, const std::string& path,
                            const std::function<void(int64_t)>& done)>
      make;
};

// Takes the index of the file of a number. Called by several threads.
using TakeIndex = std::function<void(size_t file, std::string text)>;

// Makes the indexes of several files at a time, showing the progress on standard error if it takes
// longer than a second. Raises the error of the first file that has one.
void make_indexes(const IndexKind& kind, std::span<const std::string> paths, const TakeIndex& take);

// As make_indexes(), for files that have not changed since their index was made in the same way:
// takes it from TORCHDALI_CACHE_DIR, by default ~/.cache/torchdali. A cache that cannot be written
// is not used.
void find_indexes(const IndexKind& kind, std::span<const std::string> paths, const TakeIndex& take);

}  // namespace torchdali::io
