// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/video/video_files.h"

namespace torchdali {

std::shared_ptr<const io::video::VideoFile> VideoFiles::open(const std::string& path) {
  if (auto file = find(path)) return file;
  std::shared_ptr<const io::video::VideoFile> opened =
      io::video::VideoFile::open(path, options_);  // without the mutex
  const std::lock_guard lock(mutex_);
  if (const auto found = by_path_.find(path); found != by_path_.end())
    return found->second->file;  // another thread was faster
  entries_.push_front({path, opened});
  by_path_.emplace(entries_.front().path, entries_.begin());
  if (entries_.size() > capacity_) {
    by_path_.erase(entries_.back().path);
    entries_.pop_back();
  }
  return opened;
}

std::shared_ptr<const io::video::VideoFile> VideoFiles::find(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->file;
}

}  // namespace torchdali
