// SPDX-License-Identifier: Apache-2.0
// The file of an Index: a header, a directory sorted by key, and the points of each image. Written
// as a whole under another name and then renamed, so that a file is never incomplete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/image.h"
#include "io/jpeg_decoder/index/seek_points.h"

namespace torchdali::io::jpeg {

struct StoredPoints {
  std::shared_ptr<const SeekPoint[]> points;  // NOLINT(modernize-avoid-c-arrays)
  uint32_t count = 0;
};

// Reads with pread(), never mapped: a file that another process truncates must not kill this one.
// The directory is in memory, 24 bytes an image. Immutable; any thread.
class IndexFile {
 public:
  // Of the format. Files of other versions are refused.
  static constexpr uint32_t kVersion = 1;
  // Returns null if the file does not exist. Raises kFile if it cannot be read or is not a valid
  // index.
  static std::unique_ptr<const IndexFile> open(const std::string& path);
  ~IndexFile();
  IndexFile(const IndexFile&) = delete;
  IndexFile& operator=(const IndexFile&) = delete;

  // Fills in the points of an image, or nothing if they are missing or damaged.
  void find(uint64_t key, SeekPoints& to) const;

  // Writes a file with these images and those of `old` (may be null). For an image in both, the
  // entry with more points is used. `images` are sorted by key. Returns what failed, or nothing.
  static std::string write(const std::string& path, const IndexFile* old,
                           const std::vector<std::pair<uint64_t, StoredPoints>>& images);

 private:
  struct Image {
    uint64_t key;
    uint64_t offset;  // bytes after the directory
    uint32_t count;   // points
    uint32_t check;   // of their bytes
  };
  static_assert(sizeof(Image) == 24);
  struct Header;
  explicit IndexFile(int descriptor) : descriptor_(descriptor) {}
  bool read(const Image& image, SeekPoint* to) const;

  const int descriptor_;
  uint64_t data_ = 0;  // offset of the points
  std::vector<Image> images_;
};

}  // namespace torchdali::io::jpeg
