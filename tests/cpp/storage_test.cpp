// SPDX-License-Identifier: Apache-2.0
// StoragePool: memory that the user has let go is used again, memory that nothing needs is freed,
// and memory that the user keeps is left alone.
// sources: csrc/core/memory/storage.cpp
// sanitizers: address
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/memory/storage_pool.h"
#include "expect.h"

using torchdali::Storage;
using torchdali::StoragePool;

namespace {

constexpr size_t kLarge = size_t{5} << 20;

// Acquires as many storages as the user keeps at the same time; returns their addresses.
std::set<void*> addresses(StoragePool& pool, int count, size_t bytes) {
  std::vector<Storage> held;
  std::set<void*> found;
  for (int i = 0; i < count; ++i) {
    held.push_back(pool.acquire(bytes));
    EXPECT(held.back().size_bytes() >= bytes);
    std::memset(held.back().data(), i, bytes);
    found.insert(held.back().data());
  }
  EXPECT(found.size() == static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const auto* data = static_cast<const unsigned char*>(held[i].data());
    EXPECT(data[0] == i && data[bytes - 1] == i);
  }
  return found;
}

// How many of `count` storages are in memory that an earlier batch had.
size_t reused(StoragePool& pool, int count, size_t bytes, const std::set<void*>& before) {
  // Memory that is freed must not come back at the same address.
  const std::vector<Storage> plugs(20, Storage::on_host(bytes));
  const std::set<void*> now = addresses(pool, count, bytes);
  return static_cast<size_t>(
      std::count_if(now.begin(), now.end(), [&](void* one) { return before.contains(one); }));
}

void storages_of_a_list_of_batches_are_reused() {
  StoragePool pool(2, true);
  const std::set<void*> first = addresses(pool, 20, kLarge);
  EXPECT(reused(pool, 20, kLarge, first) == 20);
  EXPECT(reused(pool, 20, kLarge - 100, first) == 20);
}

void large_storages_are_aligned_to_huge_pages() {
  StoragePool pool(2, true);
  for (void* one : addresses(pool, 3, kLarge + 7))
    EXPECT(reinterpret_cast<uintptr_t>(one) % (size_t{2} << 20) == 0);
}

// Each of them has a new address if the memory of an earlier one was freed in between.
void what_nothing_needs_for_long_is_freed() {
  StoragePool pool(2, true);
  addresses(pool, 20, kLarge);
  EXPECT(pool.num_kept() == 20);
  for (int i = 0; i < 100; ++i) addresses(pool, 1, kLarge);
  EXPECT(pool.num_kept() == 20);
  const Storage last = pool.acquire(kLarge);
  for (int i = 0; i < 100; ++i) addresses(pool, 1, kLarge);
  EXPECT(pool.num_kept() == 2);
}

void a_storage_that_is_in_use_keeps_no_other() {
  StoragePool pool(1, true);
  std::vector<Storage> held;
  held.reserve(20);
  for (int i = 0; i < 20; ++i) held.push_back(pool.acquire(kLarge));
  held.erase(held.begin() + 1, held.end() - 1);  // the first and the last are kept
  for (int i = 0; i < 300; ++i) addresses(pool, 1, kLarge);
  EXPECT(pool.num_kept() == 3);
}

// When larger ones are freed, it has another place in the pool.
void a_storage_is_found_although_others_are_freed() {
  StoragePool pool(1, true);
  addresses(pool, 3, 4 * kLarge);
  const Storage held = pool.acquire(kLarge);
  std::memset(held.data(), 77, kLarge);
  for (int i = 0; i < 300; ++i) addresses(pool, 1, kLarge);
  EXPECT(pool.num_kept() == 2);
  EXPECT(*static_cast<const unsigned char*>(held.data()) == 77);
}

void other_pools_keep_few() {
  StoragePool pool(2);
  addresses(pool, 20, kLarge);
  EXPECT(pool.num_kept() == 2);
  StoragePool small(2, true);
  addresses(small, 20, 1000);
  EXPECT(small.num_kept() == 2);
  StoragePool none(0);
  addresses(none, 3, 1000);
  EXPECT(none.num_kept() == 0);
  pool.release_unused();
  EXPECT(pool.num_kept() == 0);
}

void a_size_that_does_not_exist_is_refused() {
  for (const size_t bytes : {~size_t{0}, ~size_t{0} - 100, ~size_t{0} / 2}) {
    bool failed = false;
    try {
      Storage::on_host(bytes);
    } catch (const torchdali::Error&) {
      failed = true;
    }
    EXPECT(failed);
  }
}

}  // namespace

int main() {
  storages_of_a_list_of_batches_are_reused();
  large_storages_are_aligned_to_huge_pages();
  what_nothing_needs_for_long_is_freed();
  a_storage_that_is_in_use_keeps_no_other();
  a_storage_is_found_although_others_are_freed();
  other_pools_keep_few();
  a_size_that_does_not_exist_is_refused();
  std::puts("storage_test: ok");
}
