// SPDX-License-Identifier: Apache-2.0
// VideoFiles: keeps the videos that were used last open.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/video/video_file.h"

namespace torchdali {

// Any thread.
class VideoFiles {
 public:
  explicit VideoFiles(size_t capacity, const io::video::OpenOptions& options = {})
      : capacity_(capacity), options_(options) {}
  // Opens a video, or returns it if it is open. Raises as io::video::VideoFile::open().
  std::shared_ptr<const io::video::VideoFile> open(const std::string& path);

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<const io::video::VideoFile> file;
  };
  std::shared_ptr<const io::video::VideoFile> find(const std::string& path);

  const size_t capacity_;
  const io::video::OpenOptions options_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the one that was used last is first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_path_;
};

}  // namespace torchdali
