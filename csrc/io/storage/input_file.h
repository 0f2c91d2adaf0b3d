// SPDX-License-Identifier: Apache-2.0
// InputFile: a file, local or remote, that is open for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/storage/transport.h"

namespace torchdali::io {

class Mapping;

// Immutable; any thread.
class InputFile {
 public:
  InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  virtual ~InputFile() = default;

  // Size at the time of opening.
  virtual int64_t size_bytes() const = 0;
  // Differs if the contents differ; empty if that cannot be told.
  virtual std::string version() const = 0;
  // Fills `to` with the bytes from `offset` on; raises kFile if there are fewer.
  virtual void read(void* to, int64_t count, int64_t offset = 0) const = 0;
  // Reads the bytes from `offset` to the end into allocate(count); returns their number. A remote
  // file is read by one request, without one for its size.
  virtual int64_t read_rest(int64_t offset, const std::function<void*(int64_t)>& allocate) const;
  // The bytes from `offset` on, without a copy where that is possible. A `count` of -1: to the end.
  virtual SharedBytes read_shared(int64_t offset, int64_t count) const;
  // The file in memory; null if that is not possible. It lives as long as the file.
  virtual const Mapping* mapping() const { return nullptr; }
};

// Whether `path` is a URL of a remote file: "s3://bucket/key". "file:///a/b" is the local file
// "/a/b".
bool is_remote(std::string_view path);
// `path` without "file://".
std::string_view local_path(std::string_view path);

// Which versions of remote objects a reader has read. If they are in the cache, the store is not
// asked again whether they have changed. Any thread.
class KnownVersions {
 public:
  // 0: none.
  uint64_t of(const std::string& url) const;
  void set(const std::string& url, uint64_t version);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, uint64_t> by_hash_;  // of the URL
};

// Opens a path or a URL. Raises kFile, naming it, if that fails.
std::unique_ptr<const InputFile> open_input(const std::string& path,
                                            std::shared_ptr<KnownVersions> known = nullptr);

// The whole text of a path or a URL.
std::string read_text(const std::string& path);

// A function like open_input().
using OpenInput = std::unique_ptr<const InputFile> (*)(const std::string& path,
                                                       std::shared_ptr<KnownVersions> known);

}  // namespace torchdali::io
