// SPDX-License-Identifier: Apache-2.0
#include "io/storage/open_files.h"

namespace torchdali::io {

std::shared_ptr<const InputFile> OpenFiles::open(const std::string& path) {
  if (capacity_ == 0) return open_file_(path, known_);
  if (auto file = find(path)) return file;
  // Without the mutex: opening may wait for the network.
  std::shared_ptr<const InputFile> opened = open_file_(path, known_);
  const std::lock_guard lock(mutex_);
  if (is_remote(path)) return remote_.emplace(path, opened).first->second;
  if (by_path_.contains(path)) return opened;  // another thread was faster
  entries_.push_front({path, opened});
  by_path_.emplace(entries_.front().path, entries_.begin());
  if (entries_.size() > capacity_) {
    by_path_.erase(entries_.back().path);
    entries_.pop_back();
  }
  return opened;
}

std::shared_ptr<const InputFile> OpenFiles::find(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const auto found = remote_.find(path); found != remote_.end()) return found->second;
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->file;
}

}  // namespace torchdali::io
