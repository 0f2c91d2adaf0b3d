// SPDX-License-Identifier: Apache-2.0
// OpenFiles: keeps the files that were used last open.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "io/recently_used.h"
#include "io/storage/input_file.h"

namespace torchdali::io {

// Any thread.
class OpenFiles {
 public:
  // 0: nothing is kept. Remote files have no descriptor, and do not count: all of them are kept.
  // `open_file` opens a path or a URL.
  explicit OpenFiles(size_t capacity, OpenInput open_file = open_input)
      : keeps_(capacity > 0), open_file_(open_file), local_(capacity) {}

  // Opens a path or a URL, or returns it if it is open. Raises kFile.
  std::shared_ptr<const InputFile> open(const std::string& path);

 private:
  std::shared_ptr<const InputFile> find_remote(const std::string& path);

  const bool keeps_;
  const OpenInput open_file_;
  RecentlyUsed<InputFile> local_;
  std::mutex mutex_;  // protects remote_
  std::unordered_map<std::string, std::shared_ptr<const InputFile>> remote_;
  const std::shared_ptr<KnownVersions> known_ = std::make_shared<KnownVersions>();
};

}  // namespace torchdali::io
