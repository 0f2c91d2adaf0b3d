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

uint64_t pack(uint64_t job, uint64_t claimed) { return job << 32 | claimed; }

}  // namespace

// New pages are zero, as is an empty board.
Board::Board() : memory_(sizeof(Shared), sizeof(Shared)) {}
Board::Board(int fd) : memory_(fd, sizeof(Shared), sizeof(Shared)) {}

bool Board::full() const { return shared().tail - shared().head == kMaxJobs; }

uint64_t Board::post(const JobInfo& info) {
  Shared& s = shared();
  TORCHDALI_ASSERT(!full(), "the board is full");
  const uint64_t job = s.tail;
  Entry& e = entry(job);
  // Claims all tasks first, so that a worker that still reads the previous job of this entry, but
  // sees the new number of tasks, cannot claim one.
  e.claimed = pack(job, kLow);
  e.num_tasks.store(info.num_tasks, std::memory_order_release);
  e.info = info;
  e.finished = 0;
  e.failed = 0;
  e.claimed.store(pack(job, 0), std::memory_order_release);
  s.tail.store(job + 1, std::memory_order_release);
  s.posted.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &s.posted, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return job;
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
  while ((seen & kLow) < all && !e.claimed.compare_exchange_weak(seen, pack(job, all))) {
  }
  if ((seen & kLow) < all)
    e.finished.fetch_add(static_cast<int32_t>(all - (seen & kLow)), std::memory_order_acq_rel);
}

void Board::cancel(uint64_t job) { drop_rest(job); }

void Board::retire() {
  Shared& s = shared();
  while (s.head < s.tail && complete(s.head)) ++s.head;
}

void Board::close() {
  Shared& s = shared();
  s.closing = 1;
  s.posted.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &s.posted, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Board::claim(int worker, Task* task) {
  const uint64_t tail = shared().tail.load(std::memory_order_acquire);
  for (uint64_t job = shared().head; job < tail; ++job) {
    Entry& e = entry(job);
    uint64_t seen = e.claimed.load(std::memory_order_acquire);
    // The info may already be that of a later job; then the claim below fails.
    while (seen >> 32 == (job & kLow) &&
           (seen & kLow) < static_cast<uint64_t>(e.num_tasks.load()) &&
           (e.info.worker < 0 || e.info.worker == worker)) {
      if (!e.claimed.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) continue;
      *task = {.job = job, .index = static_cast<int32_t>(seen & kLow), .info = e.info};
      return true;
    }
  }
  return false;
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
