// SPDX-License-Identifier: Apache-2.0
// Where indices of videos are kept: beside the file, in the user's cache, or in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/video/file_bytes.h"
#include "io/video/index.h"

namespace torchdali::io::video {

// The index of a file: the one that is kept, if the file is as it was then, else a new one, which
// is kept if there is a place for it. Any number of processes.
Index find_index(const std::string& path, const FileBytes& bytes);

// The index of a video in memory, `contents`, which `bytes` reads. Those of the process's videos
// are kept, up to a limit, under the hash of all their bytes, since each epoch has the same ones.
// Any thread.
Index find_index(std::span<const uint8_t> contents, const FileBytes& bytes);

struct IndexCacheState {
  int64_t entries = 0, bytes = 0, hits = 0, misses = 0;
};
IndexCacheState index_cache_state();

}  // namespace torchdali::io::video
