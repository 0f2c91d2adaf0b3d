// SPDX-License-Identifier: Apache-2.0
// Scheduler: worker threads, the queue of jobs in flight, and their delivery in order. The only
// part of the engine that blocks. Knows neither tensors nor operators, so that it runs under TSan.
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

#include "executor/run/scheduler_meters.h"
#include "executor/run/worker_bells.h"

namespace torchdali {

// One iteration. Its stages run one after the other, each as `num_tasks` independent tasks.
class Job {
 public:
  virtual ~Job() = default;
  virtual int num_tasks(int stage) const = 0;
  // The order in which the tasks of a stage start; empty: 0, 1, 2, ... If the longest start first,
  // the workers finish at about the same time. Valid as long as the job.
  virtual std::span<const int> order(int /*stage*/) const { return {}; }
  // Called on worker threads; tasks of one stage run concurrently. An exception fails the job.
  virtual void run(int stage, int task, int worker) = 0;
  // Whether a worker gains from claiming two tasks at once.
  virtual bool takes_two(int /*stage*/) const { return false; }
  // Called before run() of the first of two tasks that the worker has claimed; either may be
  // skipped then. Returns whether the second one runs next, and the first one is begun again with
  // another task.
  // Raises nothing.
  virtual bool begin_two(int /*stage*/, int /*first*/, int /*second*/, int /*worker*/) {
    return false;
  }
  // The results are no longer wanted: long tasks may end early. Any thread, while tasks run.
  virtual void cancel() {}
};

struct StageTraits {
  // Jobs pass from the first ordered stage to the end of the last one in order, one at a time.
  bool ordered = false;
  // The number of undelivered jobs of one owner that may reach the stage; 0: no limit.
  int most = 0;
};

// The stages of the jobs of one owner, and how long their tasks take.
class JobStages {
 public:
  explicit JobStages(std::vector<StageTraits> traits);

  int size() const { return static_cast<int>(traits_.size()); }

 private:
  friend class Scheduler;  // under its lock

  const std::vector<StageTraits> traits_;
  int last_ordered_ = -1;
  bool limited_ = false;         // whether any stage is
  std::vector<double> task_ns_;  // moving averages; 0: not measured yet
};

// Thread-safety: submit(), wait(), cancel() and close() are called by one thread, the consumer.
// cancel() may also be called by another thread, which ends a wait().
class Scheduler {
 public:
  // `cpus`: worker i is bound to cpus[i % size]; empty: not bound. Without threads, no job can be
  // submitted.
  explicit Scheduler(int num_threads, const std::vector<int>& cpus = {});
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();

  // Never blocks. The caller bounds the number of jobs in flight. `owner`: of events in a trace.
  void submit(std::shared_ptr<Job> job, std::shared_ptr<JobStages> stages, uint32_t owner = 0);
  // Returns the oldest job when it is finished; nullptr after `timeout`, or if the job was
  // cancelled. At least one job must be pending. Rethrows the exception of the job's lowest failing
  // task, which does not depend on the number of threads.
  std::shared_ptr<Job> wait(std::chrono::milliseconds timeout);
  // Drops all pending jobs. Returns when no worker runs a task of them.
  void cancel();
  // The same, but returns false after `timeout`. cancel() has to be called again then.
  bool cancel(std::chrono::milliseconds timeout);
  // Cancels, then ends and joins the workers. May be called twice.
  void close();
  int pending() const;
  int num_threads() const { return static_cast<int>(workers_.size()); }
  // The workers that take tasks, the first ones; the others are parked, from their present tasks
  // on. At first all are active. From 1 to num_threads(); results do not depend on it. Any thread.
  void set_active_threads(int count);
  int active_threads() const {
    const std::lock_guard lock(mutex_);
    return active_;
  }
  // Since the start. Any thread.
  SchedulerMeasure measure() const;
  // Maxima start over. Any thread.
  void reset_maxima();
  // Whether the calling thread is a worker, which cannot wait for itself.
  bool on_worker() const;
  std::vector<std::thread::native_handle_type> handles();

 private:
  // A job in the queue.
  struct Entry {
    Entry(std::shared_ptr<Job> j, std::shared_ptr<JobStages> s, uint32_t o)
        : job(std::move(j)), stages(std::move(s)), owner(o) {}
    std::shared_ptr<Job> job;
    std::shared_ptr<JobStages> stages;
    uint32_t owner;
    int stage = -1;
    int num_tasks = 0;
    bool takes_two = false;
    std::span<const int> order;
    bool finished = false;
    bool cancelled = false;
    std::exception_ptr error;
    std::atomic<int> first_failed{INT32_MAX};  // workers read it without the lock
    // Every claim writes these, to a cache line without what workers read while they run tasks.
    alignas(64) int next_task = 0;  // tasks are claimed in order
    int running = 0;                // claims of workers
  };

  // Tasks that a worker has claimed, as positions in the order of the stage.
  struct Claim {
    Entry* entry;
    int stage, begin, count;
    std::exception_ptr error = nullptr;  // of the lowest failed task
    int failed = INT32_MAX;
    int skipped = 0;
  };
  static void run(Claim& claim, int worker);
  void start_worker(int worker, const std::vector<int>& cpus);
  void worker_loop(int worker);
  // Threads to wake when the lock is released. Waking is a system call, too slow to hold the lock.
  struct Wakeups {
    int worker = -1;  // -1: none
    bool consumer = false;
    bool any() const { return worker >= 0 || consumer; }
  };
  // Acquires the lock, spinning first: it is held for some tens of nanoseconds, less than sleeping
  // costs.
  void spin_lock(std::unique_lock<std::mutex>& lock) const;
  // Called without the lock. Clears `wakeups`.
  void wake(Wakeups& wakeups);

  // The following are called with the lock.
  // Sleeps until there may be work. Returns the time.
  int64_t sleep(std::unique_lock<std::mutex>& lock, int worker, int64_t now);
  // Sleeps until the worker is to be active. Returns the time.
  int64_t park(std::unique_lock<std::mutex>& lock, int worker, int64_t now);
  // The number of finished jobs before the first unfinished one.
  int num_ready() const;
  void trace_ready(uint32_t owner) const;
  // The oldest job that has a task to claim, or null.
  Entry* find_work();
  // Whether StageTraits::most lets the job start its stage.
  bool admitted(const Entry& entry) const;
  int claim_size(const Entry& entry) const;
  // Whether a worker sleeps while there is a task to claim.
  bool can_use_another_worker();
  // Adds a worker if another one can be used.
  void add_worker(Wakeups& wakeups);
  Claim make_claim(Entry& entry);
  // Moves a job past stages that have nothing left to do.
  void advance(Entry& entry, int64_t now, Wakeups& wakeups);
  void end_claim(Claim& claim, int64_t begin, int64_t now, Wakeups& wakeups);

  mutable std::mutex mutex_;
  WorkerBells work_;
  std::condition_variable done_;
  std::deque<Entry> entries_;  // oldest first
  int active_ = 0;             // workers that are not parked
  bool consumer_waits_ = false;
  bool closing_ = false;
  IdleClock idle_clock_;
  ConsumerTimes consumer_;
  std::unique_ptr<WorkerTimes[]> times_;      // per worker
  mutable std::vector<std::thread> workers_;  // native_handle() is not const
};

}  // namespace torchdali
