// SPDX-License-Identifier: Apache-2.0
// Reading local files with open/fstat/pread, or mapped into memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "io/storage/input_file.h"
#include "io/storage/mapping.h"

namespace torchdali::io {

// InputFile::version() of a local file that is open: its size, the time of the last change and the
// inode. Empty if they cannot be read.
std::string file_version(int descriptor);

// A regular file, open for reading. Raises kFile with the path if it is missing, not permitted, a
// directory, a device, a pipe or a socket. Opening never blocks on a pipe.
class File final : public InputFile {
 public:
  explicit File(std::string path);
  ~File() override;

  int64_t size_bytes() const override { return size_bytes_; }
  std::string version() const override;
  // Raises kFile if the file has become shorter.
  void read(void* to, int64_t count, int64_t offset = 0) const override;
  const Mapping* mapping() const override;

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t size_bytes_ = 0, changed_ = 0;  // changed: nanoseconds since 1970
  uint64_t inode_ = 0;
  mutable std::once_flag mapped_;
  mutable std::unique_ptr<const Mapping> mapping_;
};

}  // namespace torchdali::io
