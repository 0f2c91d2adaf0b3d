// SPDX-License-Identifier: Apache-2.0
// Board: the jobs of a pipeline for its worker processes, in shared memory. The parent posts jobs
// (a batch of one source); workers claim tasks (a sample, or the whole batch), oldest job first. A
// claim is one compare-and-swap. Idle workers sleep on a futex.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <optional>

#include "workers/shared_memory.h"

namespace torchdali::workers {

// The description of a job. Plain numbers, since it is in shared memory.
struct JobInfo {
  int32_t source;      // number of the external source
  int32_t worker;      // the only worker that may claim it, or -1
  int32_t slab;        // number of the slab for its samples
  int32_t num_tasks;   // 1: the whole batch is one task
  int32_t batch_size;  // samples
  int64_t iteration, epoch;
};

struct Task {
  uint64_t job = 0;
  int32_t index = 0;
  JobInfo info{};
};

class Board {
 public:
  Board();                 // of the parent
  explicit Board(int fd);  // of a worker; takes ownership of `fd`
  int fd() const { return memory_.fd(); }

  // The following are for the parent, which uses one thread.
  static constexpr int kMaxJobs = 256;
  bool full() const { return in_use_.all(); }
  // Returns the number of the job. It is valid until retire().
  uint64_t post(const JobInfo& info);
  // Whether all tasks are finished or dropped.
  bool complete(uint64_t job) const;
  bool failed(uint64_t job) const;
  // Drops the tasks that were not claimed. Claimed tasks run to their end.
  void cancel(uint64_t job);
  // Frees the entry of a complete job. Jobs may be retired in any order.
  void retire(uint64_t job);
  // Asks for a message from the worker that completes the next job. Called before waiting for one.
  void want_message() { shared().message_wanted = 1; }
  // Ends the workers when they ask for the next task.
  void close();

  // The following are for workers.
  enum class Next { kTask, kTimeout, kClosed };
  Next next(int worker, int timeout_ms, Task* task);
  // Called once for each claimed task. Returns whether the parent waits for a message that the job
  // is complete.
  bool finish(const Task& task, bool failed);

 private:
  struct Entry {
    // How many jobs were posted before this one in the upper half, the number of claimed tasks in
    // the lower half. So a claim cannot hit a later job in the same entry. In a free entry, all
    // tasks are claimed.
    std::atomic<uint64_t> claimed;
    std::atomic<int32_t> worker;
    std::atomic<int32_t> num_tasks;
    std::atomic<int32_t> finished;
    std::atomic<int32_t> failed;
    JobInfo info;
  };
  struct Shared {
    std::atomic<uint32_t> posted;  // the futex: changes with every post and at the end
    std::atomic<uint32_t> closing;
    std::atomic<uint32_t> message_wanted;
    std::atomic<int32_t> num_entries;  // entries that were ever used: [0, num_entries)
    Entry entries[kMaxJobs];
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  Shared& shared() const { return *memory_.at<Shared>(); }
  // A job is numbered so that its entry follows from its number.
  Entry& entry(uint64_t job) const { return shared().entries[job % kMaxJobs]; }
  bool claim(int worker, Task* task);
  void drop_rest(uint64_t job);
  SharedMemory memory_;
  // Of the parent: the entries of jobs that are not retired, and the number of jobs posted.
  std::bitset<kMaxJobs> in_use_;
  uint64_t num_posted_ = 0;
};

}  // namespace torchdali::workers
