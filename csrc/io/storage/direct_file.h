// SPDX-License-Identifier: Apache-2.0
// DirectFile: reads a local file past the system's page cache (O_DIRECT).
#pragma once

#include <memory>
#include <string>

#include "io/storage/file.h"

namespace torchdali::io {

// Raises kFile if the file system has no O_DIRECT.
class DirectFile final : public InputFile {
 public:
  explicit DirectFile(const std::string& path);
  ~DirectFile() override;

  int64_t size_bytes() const override { return file_.size_bytes(); }
  std::string version() const override { return file_.version(); }
  void read(void* to, int64_t count, int64_t offset = 0) const override;

 private:
  const File file_;  // checks that it is a regular file, and knows its size
  std::string path_;
  int descriptor_ = -1;
};

// Opens a path for reading past the page cache, or a URL, for which there is no such cache.
std::unique_ptr<const InputFile> open_direct(const std::string& path,
                                             std::shared_ptr<KnownVersions> known = nullptr);

}  // namespace torchdali::io
