// SPDX-License-Identifier: Apache-2.0
// WindowReader: reads small parts of a file in increasing order of their offsets, a window at a
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/storage/input_file.h"

namespace torchdali::io {

// One thread. A window of a local file is small where most of the file is skipped, so that the
// contents of large records are not read, and grows where little is. A remote file costs a round
// trip for each window, of `remote_window` bytes.
class WindowReader {
 public:
  // For remote files of which all parts are read.
  static constexpr int64_t kWholeFile = int64_t{8} << 20;

  WindowReader(const InputFile& file, const std::string& path, int64_t remote_window)
      : file_(file),
        size_(file.size_bytes()),
        remote_window_(is_remote(path) ? remote_window : 0) {}

  int64_t size() const { return size_; }
  // The bytes [offset, offset + count), which are within the file. Valid until the next call.
  std::span<const uint8_t> read(int64_t offset, int64_t count) {
    const int64_t end = begin_ + static_cast<int64_t>(bytes_.size());
    if (offset < begin_ || offset + count > end) load(offset, count, offset - end);
    return {bytes_.data() + (offset - begin_), static_cast<size_t>(count)};
  }

 private:
  static constexpr int64_t kLeast = 4096, kMost = int64_t{1} << 18;

  // `skipped`: bytes between the last window and this part; negative if it begins in that window or
  // before it.
  void load(int64_t offset, int64_t count, int64_t skipped) {
    const bool near = skipped >= -count && skipped < window_;
    window_ = near ? std::min(2 * window_, kMost) : kLeast;
    const int64_t wanted = std::max(remote_window_ > 0 ? remote_window_ : window_, count);
    bytes_.resize(static_cast<size_t>(std::min(wanted, size_ - offset)));
    file_.read(bytes_.data(), static_cast<int64_t>(bytes_.size()), offset);
    begin_ = offset;
  }

  const InputFile& file_;
  const int64_t size_, remote_window_;
  int64_t begin_ = 0, window_ = kLeast;
  std::vector<uint8_t> bytes_;
};

}  // namespace torchdali::io
