// SPDX-License-Identifier: Apache-2.0
// FileBytes: the bytes of a video, in a file or in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/storage/input_file.h"
#include "io/video/libav_api.h"

namespace torchdali::io::video {

// Immutable; any thread.
class FileBytes {
 public:
  FileBytes(std::string name, std::shared_ptr<const InputFile> file);
  FileBytes(std::string name, std::span<const uint8_t> bytes);
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  // For messages: `"a/b.mp4"`, or "the video".
  const std::string& name() const { return name_; }
  const InputFile* file() const { return file_.get(); }
  int64_t size() const { return size_; }
  // Raises kFile or kData if there are fewer.
  void read(void* to, int64_t count, int64_t offset) const;
  // For FFmpeg.
  libav::Source source() const;

 private:
  std::string name_;
  std::shared_ptr<const InputFile> file_;
  std::span<const uint8_t> memory_;
  int64_t size_ = 0;
};

}  // namespace torchdali::io::video
