// SPDX-License-Identifier: Apache-2.0
// Transport: single requests to object stores and web servers. Python implements it
// (torchdali/_storage). docs/design/storage.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace torchdali::io {

// An object as of one moment. `etag` differs if the contents differ; empty if the store has none.
struct RemoteObject {
  int64_t size = 0;
  std::string etag = {};
};

// Bytes in memory that parts may share.
struct SharedBytes {
  std::shared_ptr<const std::byte[]> data;  // NOLINT(modernize-avoid-c-arrays)
  int64_t size = 0;

  // Those from `offset` on.
  SharedBytes part(int64_t offset, int64_t count) const {
    return {{data, data.get() + offset}, count};
  }
};

// What a store answered, and the object as of then. A size of -1 is not known.
struct RemotePart {
  RemoteObject object;
  SharedBytes bytes;
};

// A request failed.
class RemoteError : public Error {
 public:
  RemoteError(const std::string& message, bool transient, std::string fix = {})
      : Error(ErrorKind::kFile, message, std::move(fix)), transient_(transient) {}
  // Whether the same request may succeed later: a time-out, a lost connection, status 429 or 5xx.
  bool transient() const { return transient_; }

 private:
  bool transient_;
};

// Any thread. Each call is one attempt; failures are raised as RemoteError, without the URL.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;
  virtual RemoteObject stat(const std::string& url) = 0;
  // The bytes from `offset` on: `count`, or fewer if the object ends before. Anything else that
  // comes back is the store's fault; the caller checks it.
  virtual RemotePart get(const std::string& url, int64_t offset, int64_t count) = 0;
  // The URLs of the objects in a folder and in the folders in it, in any order.
  virtual std::vector<std::string> list(const std::string& folder) = 0;
  // Waits. Raises an Error if the calling thread was interrupted.
  virtual void sleep(std::chrono::milliseconds duration) = 0;
};

}  // namespace torchdali::io
