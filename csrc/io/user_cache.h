// SPDX-License-Identifier: Apache-2.0
// The folder for what can be made again at any time.
#pragma once

#include <filesystem>

namespace torchdali::io {

// TORCHDALI_CACHE_DIR, by default ~/.cache/torchdali. Empty if there is none. It may not exist yet.
std::filesystem::path user_cache();

}  // namespace torchdali::io
