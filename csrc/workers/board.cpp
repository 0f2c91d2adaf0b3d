// SPDX-License-Identifier: Apache-2.0
#include "workers/board.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "core/error.h"

namespace torchdali::workers {
namespace {

constexpr uint64_t kLow = 0xffffffff;

uint64_t pack(uint64_t number, uint64_t claimed) { return number << 32 | claimed; }

// Whether the job of one value of Entry::claimed was posted before that of another. The numbers
// wrap around; jobs that are on the board together are much closer than half of their range.
bool is_older(uint64_t a, uint64_t b) { return static_cast<int32_t>((a >> 32) - (b >> 32)) < 0; }

}  // namespace

// New pages are zero, as is an empty board: no entry has tasks.
Board::Board() : memory_(sizeof(Shared), sizeof(Shared)) {}
Board::Board(int fd) : memory_(fd, sizeof(Shared), sizeof(Shared)) {}

uint64_t Board::post(const JobInfo& info) {
  Shared& s = shared();
  TORCHDALI_ASSERT(!full(), "the board is full");
  // The first free entry: workers look at as few entries as jobs were ever outstanding.
  int32_t index = 0;
  while (in_use_[index]) ++index;
  in_use_[index] = true;
  const uint64_t number = num_posted_++ & kLow;
  Entry& e = s.entries[index];
  // Claims all tasks first, so that a worker that still reads the previous job of this entry, but
  // sees the new number of tasks, cannot claim one.
  e.claimed = pack(number, kLow);
  e.worker.store(info.worker, std::memory_order_release);
  e.num_tasks.store(info.num_tasks, std::memory_order_release);
  e.info = info;
  e.finished = 0;
  e.failed = 0;
  e.claimed.store(pack(number, 0), std::memory_order_release);
  if (index >= s.num_entries) s.num_entries.store(index + 1, std::memory_order_release);
  s.posted.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &s.posted, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return number * kMaxJobs + static_cast<uint64_t>(index);
}

bool Board::complete(uint64_t job) const {
  const Entry& e = entry(job);
  return e.finished == e.num_tasks;
}

bool Board::failed(uint64_t job) const { return entry(job).failed != 0; }

// Claims the remaining tasks and counts them as finished.
void Board::drop_rest(uint64_t job) {
  Entry& e = entry(job);
  uint64_t seen = e.claimed;
  const auto all = static_cast<uint64_t>(e.num_tasks.load());
  while ((seen & kLow) < all && !e.claimed.compare_exchange_weak(seen, (seen & ~kLow) | all)) {
  }
  if ((seen & kLow) < all)
    e.finished.fetch_add(static_cast<int32_t>(all - (seen & kLow)), std::memory_order_acq_rel);
}

void Board::cancel(uint64_t job) { drop_rest(job); }

void Board::retire(uint64_t job) {
  TORCHDALI_ASSERT(complete(job), "job ", job);
  in_use_[job % kMaxJobs] = false;
}

void Board::close() {
  Shared& s = shared();
  s.closing = 1;
  s.posted.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &s.posted, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Claims a task of the oldest job that has one for this worker.
bool Board::claim(int worker, Task* task) {
  Shared& s = shared();
  for (;;) {
    Entry* oldest = nullptr;
    uint64_t claimed = 0;
    const int32_t count = s.num_entries.load(std::memory_order_acquire);
    for (Entry* e = s.entries; e != s.entries + count; ++e) {
      const uint64_t seen = e->claimed.load(std::memory_order_acquire);
      // The rest may already be of a later job; then the claim below fails.
      if ((seen & kLow) >= static_cast<uint64_t>(e->num_tasks.load(std::memory_order_acquire)))
        continue;
      const int32_t only = e->worker.load(std::memory_order_acquire);
      if (only >= 0 && only != worker) continue;
      if (oldest != nullptr && !is_older(seen, claimed)) continue;
      oldest = e;
      claimed = seen;
    }
    if (oldest == nullptr) return false;
    if (!oldest->claimed.compare_exchange_strong(claimed, claimed + 1, std::memory_order_acq_rel))
      continue;  // another worker has taken it
    const auto index = static_cast<uint64_t>(oldest - s.entries);
    *task = {.job = (claimed >> 32) * kMaxJobs + index,
             .index = static_cast<int32_t>(claimed & kLow),
             .info = oldest->info};
    return true;
  }
}

Board::Next Board::next(int worker, int timeout_ms, Task* task) {
  Shared& s = shared();
  const uint32_t posted = s.posted.load(std::memory_order_acquire);
  if (s.closing != 0) return Next::kClosed;
  if (claim(worker, task)) return Next::kTask;
  const timespec timeout{.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
  syscall(SYS_futex, &s.posted, FUTEX_WAIT, posted, &timeout, nullptr, 0);
  if (s.closing != 0) return Next::kClosed;
  return claim(worker, task) ? Next::kTask : Next::kTimeout;
}

bool Board::finish(const Task& task, bool failed) {
  Entry& e = entry(task.job);
  if (failed) {
    e.failed = 1;
    drop_rest(task.job);
  }
  const int32_t all = e.num_tasks;
  return e.finished.fetch_add(1) + 1 == all && shared().message_wanted.exchange(0) != 0;
}

}  // namespace torchdali::workers
