// SPDX-License-Identifier: Apache-2.0
// Reading whole files with open/fstat/pread. Not mapped: a file that is truncated while it is
// mapped kills the process (SIGBUS), whereas a short read is an ordinary error.
#pragma once

#include <cstdint>

namespace torchdali::io {

// A regular file, open for reading. Raises kFile with the path if it is missing, not permitted, a
// directory, a device, a pipe or a socket. Opening never blocks on a pipe.
class File {
 public:
  explicit File(const char* path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Size at the time of opening.
  int64_t size_bytes() const { return size_bytes_; }
  // Fills `to` with the bytes from `offset` on; raises kFile if the file has become shorter.
  void read(void* to, int64_t count, int64_t offset = 0) const;

 private:
  const char* path_;
  int descriptor_ = -1;
  int64_t size_bytes_ = 0;
};

}  // namespace torchdali::io
