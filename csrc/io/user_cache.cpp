// SPDX-License-Identifier: Apache-2.0
#include "io/user_cache.h"

#include <cstdlib>

namespace torchdali::io {

std::filesystem::path user_cache() {
  namespace fs = std::filesystem;
  // NOLINTBEGIN(concurrency-mt-unsafe): read only
  if (const char* folder = std::getenv("TORCHDALI_CACHE_DIR"); folder != nullptr) return folder;
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder == '/')
    return fs::path(folder) / "torchdali";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache" / "torchdali";
  // NOLINTEND(concurrency-mt-unsafe)
  return {};
}

}  // namespace torchdali::io
