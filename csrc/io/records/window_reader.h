// SPDX-License-Identifier: Apache-2.0
// WindowReader: reads small parts of a file in about the order in which they lie, a window at a
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/storage/input_file.h"

namespace torchdali::io {

// One thread. A window of a local file is a page, because the parts of large records lie far from
// each other. A remote file costs a round trip for each window, of `remote_window` bytes.
class WindowReader {
 public:
  WindowReader(const InputFile& file, const std::string& path, int64_t remote_window)
      : file_(file),
        size_(file.size_bytes()),
        window_(is_remote(path) ? remote_window : int64_t{4096}) {}

  // For files of which all parts are read.
  static constexpr int64_t kWholeFile = int64_t{8} << 20;

  int64_t size() const { return size_; }
  // The bytes from `offset` on, valid until the next call. They are within the file.
  std::span<const uint8_t> read(int64_t offset, int64_t count) {
    if (offset < begin_ || offset + count > begin_ + static_cast<int64_t>(bytes_.size())) {
      bytes_.resize(static_cast<size_t>(std::min(std::max(window_, count), size_ - offset)));
      file_.read(bytes_.data(), static_cast<int64_t>(bytes_.size()), offset);
      begin_ = offset;
    }
    return {bytes_.data() + (offset - begin_), static_cast<size_t>(count)};
  }

 private:
  const InputFile& file_;
  const int64_t size_, window_;
  int64_t begin_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace torchdali::io
