// SPDX-License-Identifier: Apache-2.0
// Scheduler: worker threads, the queue of iterations in flight and their delivery in order. The one
// place of the engine that blocks. Knows neither tensors nor operators, so that it runs under TSan.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/counters.h"

namespace torchdali {

// One iteration. Its stages run one after the other, each as `num_tasks` independent tasks.
class Job {
 public:
  virtual ~Job() = default;
  virtual int num_tasks(int stage) const = 0;
  // The tasks of a stage in the order in which they begin, for as long as the job; empty: as they
  // are numbered. With the longest first, workers end together.
  virtual std::span<const int> order(int /*stage*/) const { return {}; }
  // Worker thread; tasks of one stage run at the same time. An exception fails the job.
  virtual void run(int stage, int task, int worker) = 0;
  // Nobody wants the results any more: long tasks may end early. Any thread, while tasks run.
  virtual void cancel() {}
};

struct StageTraits {
  // Iterations go from the first ordered stage to the end of the last one in order, one at a time:
  // what runs in such stages runs as if the iterations came one after the other.
  bool ordered = false;
  // How many of an owner's iterations that were not taken may come to it; 0: all.
  int most = 0;
};

// The stages of the jobs of one owner, and how long their tasks take.
class Stages {
 public:
  explicit Stages(std::vector<StageTraits> traits);

 private:
  friend class Scheduler;  // under its lock
  int size() const { return static_cast<int>(traits_.size()); }

  const std::vector<StageTraits> traits_;
  int last_ordered_ = -1;
  bool limited_ = false;         // one of them is
  std::vector<double> task_ns_;  // moving average, 0 where not yet measured
};

// What a worker did since it began: busy + idle + waiting + the rest, which is the scheduler's own
// (claims, the lock, going to sleep and waking up), make the wall time.
struct WorkerMeasure {
  int64_t wall_ns = 0;
  int64_t busy_ns = 0;     // in tasks
  int64_t idle_ns = 0;     // all that was submitted was finished: the consumer is behind
  int64_t waiting_ns = 0;  // there were unfinished jobs, but no task of them that could be claimed
  int64_t claims = 0;
};

struct SchedulerMeasure {
  int64_t began_ns = 0;  // when the first job was submitted; 0: not yet
  std::vector<WorkerMeasure> workers;
  // [n]: how often the consumer came and found n jobs finished; the last one: as many or more.
  std::vector<int64_t> ready;
  // How often, and how long, it had to wait.
  int64_t waits = 0, wait_ns = 0, max_wait_ns = 0;
};

// Thread-safety: submit(), wait(), cancel() and close() are for one thread, the consumer's; the
// workers are inside. cancel() may come from another one: a wait() then ends.
class Scheduler {
 public:
  // `cpus`: worker i is bound to cpus[i % size]; empty: not bound.
  explicit Scheduler(int num_threads, const std::vector<int>& cpus = {});
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();

  // Never blocks. Bounding the number of jobs in flight is up to the caller. `owner`: of events in
  // a trace.
  void submit(std::shared_ptr<Job> job, std::shared_ptr<Stages> stages, uint32_t owner = 0);
  // Takes the oldest job once it is finished; nullptr where `timeout` passed first, or the job was
  // cancelled. Must not be called with nothing pending. Rethrows the exception of the job's lowest
  // failing task: which one that is does not depend on the number of threads.
  std::shared_ptr<Job> wait(std::chrono::milliseconds timeout);
  // Drops every pending job; returns when no worker holds a task of one.
  void cancel();
  // The same, but gives up waiting after `timeout`: false, and cancel() has to be called again.
  bool cancel(std::chrono::milliseconds timeout);
  // cancel(), then ends and joins the workers. Safe to call twice.
  void close();
  int pending() const;
  // Since the start. Any thread.
  SchedulerMeasure measure() const;
  // Of what is greatest, the greatest from now on counts. Any thread.
  void reset_greatest();
  // Whether the calling thread is one of the workers, which cannot wait for themselves.
  bool on_worker() const;
  std::vector<std::thread::native_handle_type> handles();

 private:
  struct Entry {
    Entry(std::shared_ptr<Job> j, std::shared_ptr<Stages> s, uint32_t o)
        : job(std::move(j)), stages(std::move(s)), owner(o) {}
    std::shared_ptr<Job> job;
    std::shared_ptr<Stages> stages;
    uint32_t owner;
    int stage = -1;
    int num_tasks = 0;
    int next_task = 0;  // tasks are claimed in order
    std::span<const int> order;
    int running = 0;  // claims that workers hold
    bool finished = false;
    bool cancelled = false;
    std::exception_ptr error;
    std::atomic<int> first_failed{INT32_MAX};  // read by workers without the lock
  };

  // Of one worker, which writes; idle and waiting under the lock.
  struct alignas(64) Meter {
    Counter busy, idle, waiting, claims;
    std::atomic<int64_t> begin{0};       // 0: not yet
    std::atomic<int64_t> busy_since{0};  // 0: in no task
    int64_t idle_since = 0;              // 0: it does not sleep
    int64_t drained_before = 0;          // drained() when it went to sleep
  };

  // Tasks that a worker has claimed, as positions in the order of the stage.
  struct Claim {
    Entry* entry;
    int stage, begin, count;
    std::exception_ptr error = nullptr;  // of the lowest one that failed
    int failed = INT32_MAX;
    int skipped = 0;
  };
  static void run(Claim& claim, int worker);
  void worker_loop(int worker);
  // Who is to be woken once the lock is released: a call of the kernel, too long to hold it.
  struct Wake {
    bool work = false, consumer = false;
  };
  // Takes the lock, which is held for some tens of nanoseconds: sleeping would cost more.
  void lock_soon(std::unique_lock<std::mutex>& lock) const;
  // Without the lock.
  void wake(Wake& who);
  // All below hold mutex_.
  // From `now` on; returns the time when it woke.
  int64_t sleep(std::unique_lock<std::mutex>& lock, Meter& meter, int64_t now);
  // How long there was no unfinished job until then.
  int64_t drained(int64_t now) const;
  int num_ready() const;
  void trace_ready(uint32_t owner) const;
  void came_to_take();
  void took(int64_t now, uint32_t owner);
  Entry* find_work();
  // Whether so few of its owner's jobs are before it that it may come to its stage.
  bool admitted(const Entry& entry) const;
  int claim_size(const Entry& entry) const;
  bool worth_waking(const Entry& entry) const;
  void advance(Entry& entry, int64_t now, Wake& who);

  mutable std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<Entry> entries_;  // oldest first
  int idle_ = 0;
  int unfinished_ = 0;  // jobs
  int64_t began_ns_ = 0;
  int64_t drained_since_ = now_ns(), drained_ns_ = 0;
  // Of the consumer.
  static constexpr size_t kMaxReady = 16;
  bool came_ = false;          // it wants the oldest job, which is counted
  int64_t waiting_since_ = 0;  // 0: it does not wait
  std::vector<int64_t> ready_ = std::vector<int64_t>(kMaxReady + 1);
  int64_t waits_ = 0, wait_ns_ = 0, max_wait_ns_ = 0;
  std::unique_ptr<Meter[]> meters_;
  bool consumer_waits_ = false;
  bool closing_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace torchdali
