// SPDX-License-Identifier: Apache-2.0
// Memory of the host for outputs, and its reuse.
#include "core/memory/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/memory/storage_pool.h"

namespace torchdali {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vectors
constexpr size_t kHugePage = size_t{2} << 20;
// Smaller memory has few pages, and malloc() reuses it.
constexpr size_t kLarge = 2 * kHugePage;

// Large memory has huge pages if the system permits it (madvise): 512 times fewer page faults, and
// fewer misses of the TLB. The last part of a huge page has ordinary pages, so no memory is lost.
std::shared_ptr<const void> map_large(size_t size_bytes) {
  const size_t reserved = size_bytes + kHugePage;
  if (reserved < size_bytes) return nullptr;
  void* start = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  void* data = start;
  size_t space = reserved;
  std::align(kHugePage, size_bytes, data, space);
  static_cast<void>(madvise(data, size_bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
  return {data, [start, reserved](const void*) { munmap(start, reserved); }};
}

std::shared_ptr<const void> allocate(size_t size_bytes) {
  if (size_bytes >= kLarge) return map_large(size_bytes);
  const size_t rounded = std::max(size_bytes, size_t{1}) + kAlignment - 1;
  void* data = std::aligned_alloc(kAlignment, rounded / kAlignment * kAlignment);
  return data == nullptr ? nullptr : std::shared_ptr<const void>(data, std::free);
}

}  // namespace

Storage Storage::on_host(size_t size_bytes) {
  std::shared_ptr<const void> owner = allocate(size_bytes);
  TORCHDALI_CHECK_KIND(kRuntime, owner != nullptr, "out of memory: ", size_bytes, " bytes",
                       to_fix("use smaller batches or a smaller prefetch_queue_depth"));
  void* data = const_cast<void*>(owner.get());
  return {data, size_bytes, MemoryKind::kHost, std::move(owner)};
}

Storage StoragePool::acquire(size_t size_bytes) {
  if (kind_ != MemoryKind::kHost) return device_->allocate(kind_, size_bytes);
  const std::lock_guard lock(mutex_);
  ++acquired_;
  const auto fits = [&](const Kept& kept) {
    const size_t has = kept.storage.size_bytes();
    return has >= size_bytes && has / 2 <= size_bytes && kept.storage.is_unshared();
  };
  const auto found = std::find_if(kept_.begin(), kept_.end(), fits);
  if (found != kept_.end()) {
    found->idle_since = 0;
    Storage storage = found->storage;  // drop_idle() moves the others
    if (acquired_ % kCheck == 0) drop_idle();
    return storage;
  }
  Storage fresh = Storage::on_host(size_bytes);
  const size_t most = keeps_more_ && size_bytes >= kLarge ? kMostKept : few_;
  drop_idle();
  if (kept_.size() >= most && !kept_.empty()) {
    // Drops one that is unused, else the oldest, which lives on while it is referenced.
    const auto victim = std::find_if(kept_.begin(), kept_.end(),
                                     [](const Kept& kept) { return kept.storage.is_unshared(); });
    kept_.erase(victim == kept_.end() ? kept_.begin() : victim);
  }
  if (most > 0) kept_.push_back({fresh, 0});
  return fresh;
}

// Those that were unused for a while, but for a few.
void StoragePool::drop_idle() {
  for (Kept& kept : kept_)
    if (!kept.storage.is_unshared()) kept.idle_since = 0;
    else if (kept.idle_since == 0) kept.idle_since = acquired_;
  for (size_t i = kept_.size(); i-- > 0 && kept_.size() > few_;)
    if (kept_[i].idle_since > 0 && acquired_ - kept_[i].idle_since >= kIdle)
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
}

void StoragePool::release_unused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [](const Kept& kept) { return kept.storage.is_unshared(); });
}

}  // namespace torchdali
