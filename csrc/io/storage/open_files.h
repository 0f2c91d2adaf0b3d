// SPDX-License-Identifier: Apache-2.0
// OpenFiles: keeps the files that were used last open.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/storage/input_file.h"

namespace torchdali::io {

// Any thread.
class OpenFiles {
 public:
  // 0: nothing is kept. Remote files have no descriptor, and do not count: all of them are kept.
  // `open_file` opens a path or a URL.
  explicit OpenFiles(size_t capacity, OpenInput open_file = open_input)
      : capacity_(capacity), open_file_(open_file) {}

  // Opens a path or a URL, or returns it if it is open. Raises kFile.
  std::shared_ptr<const InputFile> open(const std::string& path);

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<const InputFile> file;
  };
  std::shared_ptr<const InputFile> find(const std::string& path);

  const size_t capacity_;
  const OpenInput open_file_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // local ones; the one that was used last is first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_path_;
  std::unordered_map<std::string, std::shared_ptr<const InputFile>> remote_;
  const std::shared_ptr<KnownVersions> known_ = std::make_shared<KnownVersions>();
};

}  // namespace torchdali::io
