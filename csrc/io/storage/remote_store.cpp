// SPDX-License-Identifier: Apache-2.0
#include "io/storage/remote_store.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "io/content_hash.h"
#include "io/storage/caching_store.h"
#include "io/storage/retrying_store.h"

namespace torchdali::io {
namespace {

struct StoreOfProcess {
  std::mutex mutex;
  std::shared_ptr<RemoteStore> store;
  int concurrency = 64;
};

StoreOfProcess& store_of_process() {
  static auto* instance = new StoreOfProcess;  // threads may read while the process exits
  return *instance;
}

}  // namespace

uint64_t version_hash(const RemoteObject& object) {
  const std::string text = str_cat(object.size, ' ', object.etag);
  const uint64_t hash = content_hash({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return std::max<uint64_t>(hash, 1);
}

std::shared_ptr<RemoteStore> remote_store() {
  StoreOfProcess& process = store_of_process();
  const std::lock_guard lock(process.mutex);
  return process.store;
}

int remote_concurrency() {
  StoreOfProcess& process = store_of_process();
  const std::lock_guard lock(process.mutex);
  return process.concurrency;
}

void set_remote_store(std::shared_ptr<RemoteStore> store, int concurrency) {
  StoreOfProcess& process = store_of_process();
  const std::lock_guard lock(process.mutex);
  std::swap(process.store, store);  // the old one is destroyed without the mutex
  process.concurrency = concurrency;
}

std::shared_ptr<RemoteStore> make_remote_store(std::shared_ptr<Transport> transport,
                                               const RemoteOptions& options) {
  auto store = std::make_shared<RetryingStore>(std::move(transport), options.retries);
  if (options.cache_bytes == 0 || options.cache_dir.empty()) return store;
  return std::make_shared<CachingStore>(
      std::move(store), std::make_shared<DiskCache>(options.cache_dir, options.cache_bytes));
}

}  // namespace torchdali::io
