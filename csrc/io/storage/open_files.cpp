// SPDX-License-Identifier: Apache-2.0
#include "io/storage/open_files.h"

#include <utility>

namespace torchdali::io {

std::shared_ptr<const InputFile> OpenFiles::open(const std::string& path) {
  if (!keeps_) return open_file_(path, known_);
  const bool remote = is_remote(path);
  if (auto file = remote ? find_remote(path) : local_.find(path)) return file;
  // Without a mutex: opening may wait for the network.
  std::shared_ptr<const InputFile> opened = open_file_(path, known_);
  if (!remote) return local_.add(path, std::move(opened));
  const std::lock_guard lock(mutex_);
  return remote_.emplace(path, std::move(opened)).first->second;
}

std::shared_ptr<const InputFile> OpenFiles::find_remote(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = remote_.find(path);
  return found == remote_.end() ? nullptr : found->second;
}

}  // namespace torchdali::io
