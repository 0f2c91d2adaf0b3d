// SPDX-License-Identifier: Apache-2.0
// RemoteStore: object stores and web servers, as the engine sees them. Python implements it
// (torchdali/storage.py). docs/design/storage.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace torchdali::io {

// An object as of one moment. `etag` differs if the contents differ; empty if the store has none.
struct RemoteObject {
  int64_t size = 0;
  std::string etag = {};
};

// Any thread; no caller holds a lock of Python's. Failures are raised as kFile, with the URL, after
// the store's own retries.
class RemoteStore {
 public:
  RemoteStore() = default;
  RemoteStore(const RemoteStore&) = delete;
  RemoteStore& operator=(const RemoteStore&) = delete;
  virtual ~RemoteStore() = default;
  virtual RemoteObject stat(const std::string& url) = 0;
  // Fills `to` with `count` bytes from `offset` on. Raises kFile if there are fewer, or if the
  // object is not `object` anymore.
  virtual void read(const std::string& url, const RemoteObject& object, void* to, int64_t count,
                    int64_t offset) = 0;
  // Reads the whole object by one request into allocate(size).
  virtual RemoteObject read_whole(const std::string& url,
                                  const std::function<void*(int64_t)>& allocate) = 0;
  // The URLs of the objects whose URLs begin with `prefix`, sorted by bytes.
  virtual std::vector<std::string> list(const std::string& prefix) = 0;
};

// The store of the process, set once when the extension is loaded. Null in programs without Python.
std::shared_ptr<RemoteStore> remote_store();
void set_remote_store(std::shared_ptr<RemoteStore> store);

}  // namespace torchdali::io
