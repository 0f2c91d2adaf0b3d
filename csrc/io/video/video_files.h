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

namespace torchdali::io::video {

// Any thread.
class VideoFiles {
 public:
  explicit VideoFiles(size_t capacity, const OpenOptions& options = {})
      : capacity_(capacity), options_(options) {}
  // Opens a video, or returns it if it is open. Raises as VideoFile::open().
  std::shared_ptr<const VideoFile> open(const std::string& path);

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<const VideoFile> file;
  };
  std::shared_ptr<const VideoFile> find(const std::string& path);

  const size_t capacity_;
  const OpenOptions options_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the one that was used last is first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_path_;
};

}  // namespace torchdali::io::video
