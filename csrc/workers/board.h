// SPDX-License-Identifier: Apache-2.0
// Board: the work that a pipeline has for its worker processes, in memory that all of them see. The
// parent posts jobs (the batch of one source), workers claim tasks (a sample, or the whole batch),
// oldest job first. Claims are one compare-and-swap; idle workers sleep on a futex.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "workers/segment.h"

namespace torchdali::workers {

// What a task is about. Plain numbers: it lies in shared memory.
struct JobInfo {
  int32_t source;      // number of the external source
  int32_t worker;      // the only one that may take it, or -1
  int32_t slab;        // where the samples go
  int32_t num_tasks;   // 1: the whole batch is one task
  int32_t batch_size;  // samples
  int64_t iteration, epoch;
};

struct Task {
  uint64_t job = 0;  // sequence number
  int32_t index = 0;
  JobInfo info{};
};

class Board {
 public:
  Board();                 // the parent's
  explicit Board(int fd);  // a worker's; takes `fd` over
  int fd() const { return segment_.fd(); }

  // -- parent, one thread
  static constexpr int kMaxJobs = 256;
  bool full() const;
  uint64_t post(const JobInfo& info);
  // All tasks are finished, or nobody will start the rest of them.
  bool complete(uint64_t job) const;
  bool failed(uint64_t job) const;
  // Tasks that nobody has claimed are dropped; those in hand run to their end.
  void cancel(uint64_t job);
  // Forgets complete jobs, oldest first, so that their entries can be used again.
  void retire();
  // The worker that completes a job next is to send a message. To be called before waiting for one.
  void want_message() { shared().message_wanted = 1; }
  // Workers leave as soon as they ask for work.
  void close();

  // -- workers
  enum class Next { kTask, kTimeout, kClosed };
  Next next(int worker, int timeout_ms, Task* task);
  // To be called once for each claimed task. Returns whether that completed the job and the parent
  // waits for a message.
  bool finish(const Task& task, bool failed);

 private:
  struct Entry {
    // Sequence number in the upper half, number of claimed tasks in the lower: a claim cannot hit
    // the job that comes to lie in the same place later.
    std::atomic<uint64_t> claimed;
    std::atomic<int32_t> num_tasks;
    std::atomic<int32_t> finished;
    std::atomic<int32_t> failed;
    JobInfo info;
  };
  struct Shared {
    std::atomic<uint32_t> posted;  // the futex: changes with every post and at the end
    std::atomic<uint32_t> closing;
    std::atomic<uint32_t> message_wanted;
    std::atomic<uint64_t> head, tail;  // jobs [head, tail) are on the board
    Entry entries[kMaxJobs];
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  Shared& shared() const { return *segment_.at<Shared>(); }
  Entry& entry(uint64_t job) const { return shared().entries[job % kMaxJobs]; }
  bool claim(int worker, Task* task);
  void drop_rest(uint64_t job);
  Segment segment_;
};

}  // namespace torchdali::workers
