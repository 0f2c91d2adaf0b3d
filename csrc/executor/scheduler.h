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
#include <thread>
#include <vector>

namespace torchdali {

// One iteration. Its stages run one after the other, each as `num_tasks` independent tasks.
class Job {
 public:
  virtual ~Job() = default;
  virtual int num_tasks(int stage) const = 0;
  // Worker thread; tasks of one stage run at the same time. An exception fails the job.
  virtual void run(int stage, int task, int worker) = 0;
  // Nobody wants the results any more: long tasks may end early. Any thread, while tasks run.
  virtual void cancel() {}
};

struct StageTraits {
  // Iterations go from the first ordered stage to the end of the last one in order, one at a time:
  // what runs in such stages runs as if the iterations came one after the other.
  bool ordered = false;
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
  std::vector<double> task_ns_;  // moving average, 0 where not yet measured
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

  // Never blocks. Bounding the number of jobs in flight is up to the caller.
  void submit(std::shared_ptr<Job> job, std::shared_ptr<Stages> stages);
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
  // Whether the calling thread is one of the workers, which cannot wait for themselves.
  bool on_worker() const;
  std::vector<std::thread::native_handle_type> handles();

 private:
  struct Entry {
    Entry(std::shared_ptr<Job> j, std::shared_ptr<Stages> s)
        : job(std::move(j)), stages(std::move(s)) {}
    std::shared_ptr<Job> job;
    std::shared_ptr<Stages> stages;
    int stage = -1;
    int num_tasks = 0;
    int next_task = 0;  // tasks are claimed in order
    int running = 0;    // claims that workers hold
    bool finished = false;
    bool cancelled = false;
    std::exception_ptr error;
    std::atomic<int> first_failed{INT32_MAX};  // read by workers without the lock
  };

  void worker_loop(int worker);
  // All below hold mutex_.
  Entry* find_work();
  int claim_size(const Entry& entry) const;
  bool worth_waking(const Entry& entry) const;
  void advance(Entry& entry);

  mutable std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<Entry> entries_;  // oldest first
  int idle_ = 0;
  bool consumer_waits_ = false;
  bool closing_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace torchdali
