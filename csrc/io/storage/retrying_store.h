// SPDX-License-Identifier: Apache-2.0
// RetryingStore: a RemoteStore that checks what a transport returns, and repeats requests that
// failed for a while.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/storage/remote_store.h"

namespace torchdali::io {

class RetryingStore final : public RemoteStore {
 public:
  // The largest range of one request. Larger ones are read as several.
  static constexpr int64_t kMaxRequest = int64_t{16} << 20;

  RetryingStore(std::shared_ptr<Transport> transport, int retries)
      : transport_(std::move(transport)), retries_(retries) {}

  RemoteObject stat(const std::string& url) override;
  SharedBytes read(const std::string& url, const RemoteObject& object, int64_t offset,
                   int64_t count) override;
  RemotePart read_whole(const std::string& url, uint64_t known) override;
  std::vector<std::string> list(const std::string& folder) override;

 private:
  // Calls `attempt` until it succeeds. `what`: "read", and `part` is of what, for messages.
  void with_retries(std::string_view what, const std::string& url, const std::string& part,
                    const std::function<void()>& attempt);
  // One request, whose answer is checked. `object` is null for the first part of an object.
  RemotePart get(const std::string& url, const RemoteObject* object, int64_t offset, int64_t count);

  const std::shared_ptr<Transport> transport_;
  const int retries_;
};

}  // namespace torchdali::io
