// SPDX-License-Identifier: Apache-2.0
// RemoteStore: object stores and web servers, as files see them. docs/design/storage.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/storage/transport.h"

namespace torchdali::io {

// Any thread; no caller holds a lock of Python's. Failures are raised as kFile, with the URL, after
// the store's own retries.
class RemoteStore {
 public:
  RemoteStore() = default;
  RemoteStore(const RemoteStore&) = delete;
  RemoteStore& operator=(const RemoteStore&) = delete;
  virtual ~RemoteStore() = default;
  virtual RemoteObject stat(const std::string& url) = 0;
  // `count` bytes from `offset` on. Raises kFile if there are fewer, or if the object is not
  // `object` anymore.
  virtual SharedBytes read(const std::string& url, const RemoteObject& object, int64_t offset,
                           int64_t count) = 0;
  // The whole object, by one request if it is small. `known`: version_hash() of what the caller has
  // read before. If that is in the cache, the store is not asked whether it has changed since.
  virtual RemotePart read_whole(const std::string& url, uint64_t known) = 0;
  // Whether `known` makes a difference.
  virtual bool has_cache() const { return false; }
  // The URLs of the objects in a folder and in the folders in it, sorted by bytes.
  virtual std::vector<std::string> list(const std::string& folder) = 0;
};

struct RemoteOptions {
  int retries = 6;       // after the first attempt
  int concurrency = 64;  // requests that a reader has in flight
  std::string cache_dir = {};
  int64_t cache_bytes = 0;  // 0: no cache
};

// A hash of size and etag, never 0.
uint64_t version_hash(const RemoteObject& object);

// The store of the process, which Python sets up. Null in programs without Python.
std::shared_ptr<RemoteStore> remote_store();
int remote_concurrency();
void set_remote_store(std::shared_ptr<RemoteStore> store, int concurrency = 64);
// A store that uses `transport`, with retries and the cache.
std::shared_ptr<RemoteStore> make_remote_store(std::shared_ptr<Transport> transport,
                                               const RemoteOptions& options);

}  // namespace torchdali::io
