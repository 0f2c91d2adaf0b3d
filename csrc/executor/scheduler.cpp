// SPDX-License-Identifier: Apache-2.0
#include "executor/scheduler.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string>

namespace torchdali {
namespace {

using Clock = std::chrono::steady_clock;

// A claim of several tasks costs about as much as this, so that locking stays in the noise and the
// last claims of a batch still end together.
constexpr double kClaimNs = 40e3;
// Waking a thread costs some microseconds and reaches it after tens: less work than this is done
// sooner by the thread that is awake.
constexpr double kWakeNs = 30e3;
constexpr double kAverageWeight = 0.25;

thread_local const Scheduler* works_for = nullptr;

}  // namespace

Stages::Stages(std::vector<StageTraits> traits)
    : traits_(std::move(traits)), task_ns_(traits_.size(), 0.0) {
  for (int i = 0; i < size(); ++i)
    if (traits_[static_cast<size_t>(i)].ordered) last_ordered_ = i;
}

Scheduler::Scheduler(int num_threads, const std::vector<int>& cpus) {
  workers_.reserve(num_threads);
  try {
    for (int i = 0; i < num_threads; ++i) {
      workers_.emplace_back([this, i] { worker_loop(i); });
      const pthread_t handle = workers_.back().native_handle();
      pthread_setname_np(handle, ("torchdali-" + std::to_string(i)).c_str());
      if (!cpus.empty()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpus[i % cpus.size()], &set);
        pthread_setaffinity_np(handle, sizeof(set), &set);
      }
    }
  } catch (...) {  // no more threads to be had: those that started must not outlive *this
    close();
    throw;
  }
}

Scheduler::~Scheduler() { close(); }

void Scheduler::submit(std::shared_ptr<Job> job, std::shared_ptr<Stages> stages) {
  const std::lock_guard lock(mutex_);
  entries_.emplace_back(std::move(job), std::move(stages));
  advance(entries_.back());
}

std::shared_ptr<Job> Scheduler::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  consumer_waits_ = true;
  const bool finished =
      done_.wait_for(lock, timeout, [&] { return entries_.empty() || entries_.front().finished; });
  consumer_waits_ = false;
  if (!finished || entries_.empty()) return nullptr;
  std::shared_ptr<Job> job = std::move(entries_.front().job);
  const std::exception_ptr error = entries_.front().error;
  entries_.pop_front();
  lock.unlock();
  if (error) std::rethrow_exception(error);
  return job;
}

void Scheduler::cancel() {
  while (!cancel(std::chrono::hours(1))) {
  }
}

bool Scheduler::cancel(std::chrono::milliseconds timeout) {
  std::deque<Entry> dropped;  // jobs are destroyed after the lock is released
  std::unique_lock lock(mutex_);
  for (Entry& e : entries_) {
    e.next_task = e.num_tasks;
    e.cancelled = true;
    e.job->cancel();
    e.first_failed = -1;  // workers leave their claims
  }
  const bool left = done_.wait_for(lock, timeout, [&] {
    return std::all_of(entries_.begin(), entries_.end(),
                       [](const Entry& e) { return e.running == 0; });
  });
  if (left) entries_.swap(dropped);
  done_.notify_all();
  return left;
}

void Scheduler::close() {
  if (workers_.empty()) return;
  cancel();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  work_.notify_all();
  for (std::thread& t : workers_) t.join();
  workers_.clear();
}

int Scheduler::pending() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(entries_.size());
}

bool Scheduler::on_worker() const { return works_for == this; }

std::vector<std::thread::native_handle_type> Scheduler::handles() {
  std::vector<std::thread::native_handle_type> handles;
  handles.reserve(workers_.size());
  for (std::thread& t : workers_) handles.push_back(t.native_handle());
  return handles;
}

Scheduler::Entry* Scheduler::find_work() {
  const Entry* before = nullptr;
  for (Entry& e : entries_) {
    if (!e.finished && e.next_task < e.num_tasks &&
        (!e.stages->traits_[e.stage].ordered || before == nullptr || before->finished ||
         before->stage > before->stages->last_ordered_))
      return &e;
    before = &e;
  }
  return nullptr;
}

int Scheduler::claim_size(const Entry& e) const {
  const double ns = e.stages->task_ns_[e.stage];
  const int left = e.num_tasks - e.next_task;
  return ns <= 0 ? 1 : static_cast<int>(std::clamp(kClaimNs / ns, 1.0, static_cast<double>(left)));
}

bool Scheduler::worth_waking(const Entry& e) const {
  const double ns = e.stages->task_ns_[e.stage];
  return ns <= 0 || ns * (e.num_tasks - e.next_task) >= kWakeNs;
}

// Moves an entry over stages that have nothing (left) to do.
void Scheduler::advance(Entry& e) {
  while (e.next_task >= e.num_tasks && e.running == 0 && !e.finished) {
    if (!e.error) ++e.stage;
    if (e.error || e.stage >= e.stages->size()) {
      e.finished = true;
    } else {
      e.next_task = 0;
      e.num_tasks = e.job->num_tasks(e.stage);
    }
  }
  if (e.finished && consumer_waits_) done_.notify_all();
  if (idle_ > 0 && find_work() != nullptr) work_.notify_one();
}

void Scheduler::worker_loop(int worker) {
  works_for = this;
  std::unique_lock lock(mutex_);
  while (true) {
    Entry* e = find_work();
    if (e == nullptr) {
      if (closing_) return;
      ++idle_;
      work_.wait(lock);
      --idle_;
      continue;
    }
    const int begin = e->next_task, count = claim_size(*e), stage = e->stage;
    e->next_task += count;
    ++e->running;
    if (idle_ > 0) {
      const Entry* more = find_work();
      if (more != nullptr && worth_waking(*more)) work_.notify_one();
    }
    lock.unlock();

    const auto start = Clock::now();
    std::exception_ptr error;
    int task = begin;
    // A failure stops the tasks behind it; those before it were claimed earlier and run to their
    // end, so the lowest failing task is always found.
    for (; task < begin + count && task < e->first_failed.load(std::memory_order_relaxed); ++task) {
      try {
        e->job->run(stage, task, worker);
      } catch (...) {
        error = std::current_exception();
        break;
      }
    }
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();

    lock.lock();
    if (error && task < e->first_failed) {
      e->first_failed = task;
      std::swap(e->error, error);
      e->next_task = e->num_tasks;
    }
    if (task == begin + count) {
      double& average = e->stages->task_ns_[stage];
      average = average <= 0 ? ns / count : average + kAverageWeight * (ns / count - average);
    }
    --e->running;
    if (e->cancelled) {
      if (e->running == 0) done_.notify_all();
    } else {
      advance(*e);
    }
    if (error) {  // it may hold what needs another lock to be let go, such as Python's
      lock.unlock();
      error = nullptr;
      lock.lock();
    }
  }
}

}  // namespace torchdali
