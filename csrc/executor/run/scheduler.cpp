// SPDX-License-Identifier: Apache-2.0
#include "executor/run/scheduler.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string>

#include "core/trace.h"

namespace torchdali {
namespace {

// A claim takes about this long, so that locking costs little and the last claims of a batch end at
// about the same time.
constexpr double kClaimNs = 40e3;
// For beginning two at a time, a worker claims up to so many tasks that take longer, and more than
// two only if they end soon, since a pipeline that is closed waits for them.
constexpr int kTasksInPairs = 8;
constexpr double kPairsNs = 10e6;
constexpr double kAverageWeight = 0.25;  // of the last claim, in the average time of a task

// Attempts before a thread sleeps until the lock is free: some microseconds, less than sleeping and
// waking cost, and much longer than the lock is held.
constexpr int kLockAttempts = 40;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");  // NOLINT(hicpp-no-assembler)
#endif
}

thread_local const Scheduler* works_for = nullptr;

}  // namespace

JobStages::JobStages(std::vector<StageTraits> traits)
    : traits_(std::move(traits)), task_ns_(traits_.size(), 0.0) {
  for (int i = 0; i < size(); ++i) {
    if (traits_[static_cast<size_t>(i)].ordered) last_ordered_ = i;
    limited_ = limited_ || traits_[static_cast<size_t>(i)].most > 0;
  }
}

Scheduler::Scheduler(int num_threads, const std::vector<int>& cpus)
    : work_(num_threads),
      active_(num_threads),
      times_(new WorkerTimes[static_cast<size_t>(num_threads)]) {
  workers_.reserve(num_threads);
  try {
    for (int i = 0; i < num_threads; ++i) start_worker(i, cpus);
  } catch (...) {  // out of threads: those that started must not outlive *this
    close();
    throw;
  }
}

void Scheduler::start_worker(int worker, const std::vector<int>& cpus) {
  workers_.emplace_back([this, worker] { worker_loop(worker); });
  const pthread_t handle = workers_.back().native_handle();
  pthread_setname_np(handle, ("torchdali-" + std::to_string(worker)).c_str());
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpus[worker % cpus.size()], &set);
  pthread_setaffinity_np(handle, sizeof(set), &set);
}

Scheduler::~Scheduler() { close(); }

void Scheduler::submit(std::shared_ptr<Job> job, std::shared_ptr<JobStages> stages,
                       uint32_t owner) {
  const int64_t now = now_ns();
  Wakeups wakeups;
  std::unique_lock lock(mutex_, std::defer_lock);
  spin_lock(lock);
  entries_.emplace_back(std::move(job), std::move(stages), owner);
  idle_clock_.begin_job(now);
  advance(entries_.back(), now, wakeups);
  lock.unlock();
  wake(wakeups);
}

void Scheduler::spin_lock(std::unique_lock<std::mutex>& lock) const {
  for (int i = 0; i < kLockAttempts; ++i) {
    if (lock.try_lock()) return;
    pause();
  }
  lock.lock();
}

void Scheduler::wake(Wakeups& wakeups) {
  if (wakeups.worker >= 0) work_.ring(wakeups.worker);
  if (wakeups.consumer) done_.notify_all();
  wakeups = {};
}

int Scheduler::num_ready() const {
  const auto unfinished =
      std::find_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.finished; });
  return static_cast<int>(unfinished - entries_.begin());
}

void Scheduler::trace_ready(uint32_t owner) const {
  if (!trace::enabled()) return;
  static const trace::Label label = trace::label("batches ready", "queue");
  trace::add(
      {.start_ns = now_ns(), .ns = num_ready(), .label = label, .owner = owner, .counter = true});
}

std::shared_ptr<Job> Scheduler::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_, std::defer_lock);
  spin_lock(lock);
  if (!entries_.empty()) consumer_.begin_wait(static_cast<size_t>(num_ready()));
  consumer_waits_ = true;
  const bool finished =
      done_.wait_for(lock, timeout, [&] { return entries_.empty() || entries_.front().finished; });
  consumer_waits_ = false;
  if (!finished || entries_.empty()) return nullptr;
  const uint32_t owner = entries_.front().owner;
  consumer_.end_wait(owner);
  std::shared_ptr<Job> job = std::move(entries_.front().job);
  const std::exception_ptr error = entries_.front().error;
  const bool admits = entries_.front().stages->limited_;
  entries_.pop_front();
  Wakeups wakeups;
  if (admits) add_worker(wakeups);
  trace_ready(owner);
  lock.unlock();
  wake(wakeups);
  if (error) std::rethrow_exception(error);
  return job;
}

void Scheduler::cancel() {
  while (!cancel(std::chrono::hours(1))) {
  }
}

bool Scheduler::cancel(std::chrono::milliseconds timeout) {
  std::deque<Entry> dropped;  // destroyed after the lock is released
  std::unique_lock lock(mutex_);
  for (Entry& e : entries_) {
    e.next_task = e.num_tasks;
    e.cancelled = true;
    e.job->cancel();
    e.first_failed = -1;  // workers skip the rest of their claims
  }
  const bool stopped = done_.wait_for(lock, timeout, [&] {
    return std::all_of(entries_.begin(), entries_.end(),
                       [](const Entry& e) { return e.running == 0; });
  });
  if (stopped) {
    entries_.swap(dropped);
    idle_clock_.end_all_jobs(now_ns());
    consumer_.cancel_wait();
  }
  done_.notify_all();
  return stopped;
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

void Scheduler::set_active_threads(int count) {
  {
    const std::lock_guard lock(mutex_);
    active_ = std::clamp(count, 1, std::max(1, num_threads()));
  }
  work_.notify_all();  // those that are parked work, and those that sleep park
}

SchedulerMeasure Scheduler::measure() const {
  SchedulerMeasure result;
  const std::lock_guard lock(mutex_);
  result.began_ns = idle_clock_.began_ns();
  consumer_.read(result);
  for (size_t i = 0; i < workers_.size(); ++i) {
    result.workers.push_back(times_[i].read(idle_clock_));
    result.workers.back().cpu_ns = cpu_ns(workers_[i].native_handle());
  }
  return result;
}

void Scheduler::reset_maxima() {
  const std::lock_guard lock(mutex_);
  consumer_.reset_maximum();
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
         before->stage > before->stages->last_ordered_) &&
        admitted(e))
      return &e;
    before = &e;
  }
  return nullptr;
}

bool Scheduler::admitted(const Entry& e) const {
  const int most = e.stages->traits_[static_cast<size_t>(e.stage)].most;
  if (most == 0) return true;
  int before = 0;
  for (const Entry& other : entries_) {
    if (&other == &e) break;
    before += other.stages == e.stages;
  }
  return before < most;
}

int Scheduler::claim_size(const Entry& e) const {
  const double ns = e.stages->task_ns_[e.stage];
  const int left = e.num_tasks - e.next_task;
  // The last task of a claim has no other one to be continued with. At the end of a stage, though,
  // another worker may take tasks sooner.
  int least = e.takes_two ? std::clamp(left / (2 * active_), 1, kTasksInPairs) : 1;
  if (ns <= 0) return least;
  least = std::min(least, static_cast<int>(std::clamp(kPairsNs / ns, 2.0, 1.0 * kTasksInPairs)));
  return static_cast<int>(
      std::clamp(kClaimNs / ns, static_cast<double>(least), static_cast<double>(left)));
}

bool Scheduler::can_use_another_worker() { return work_.any_asleep() && find_work() != nullptr; }

void Scheduler::add_worker(Wakeups& wakeups) {
  if (wakeups.worker < 0 && can_use_another_worker()) wakeups.worker = work_.take();
}

Scheduler::Claim Scheduler::make_claim(Entry& e) {
  Claim claim{.entry = &e, .stage = e.stage, .begin = e.next_task, .count = claim_size(e)};
  e.next_task += claim.count;
  ++e.running;
  return claim;
}

void Scheduler::advance(Entry& e, int64_t now, Wakeups& wakeups) {
  while (e.next_task >= e.num_tasks && e.running == 0 && !e.finished) {
    if (!e.error) ++e.stage;
    if (e.error || e.stage >= e.stages->size()) {
      e.finished = true;
    } else {
      e.next_task = 0;
      e.num_tasks = e.job->num_tasks(e.stage);
      e.takes_two = e.job->takes_two(e.stage);
      e.order = e.job->order(e.stage);
    }
  }
  if (e.finished) {
    idle_clock_.end_job(now);
    trace_ready(e.owner);
    wakeups.consumer = wakeups.consumer || consumer_waits_;
  }
  add_worker(wakeups);
}

int64_t Scheduler::sleep(std::unique_lock<std::mutex>& lock, int worker, int64_t now) {
  WorkerTimes& times = times_[worker];
  times.begin_sleep(now, idle_clock_);
  work_.sleep(worker, lock, [this](auto& unlocked) { spin_lock(unlocked); });
  const int64_t woke = now_ns();
  times.end_sleep(woke, idle_clock_);
  return woke;
}

int64_t Scheduler::park(std::unique_lock<std::mutex>& lock, int worker, int64_t now) {
  // It may have been woken for a task.
  if (can_use_another_worker()) work_.notify_one();
  WorkerTimes& times = times_[worker];
  times.begin_park(now);
  while (!closing_ && worker >= active_)
    work_.rest(worker, lock, [this](auto& unlocked) { spin_lock(unlocked); });
  const int64_t woke = now_ns();
  times.end_park(woke);
  return woke;
}

// A failure stops tasks with higher numbers. Tasks with lower numbers run, here or in other claims,
// so the lowest failing task is always found.
void Scheduler::run(Claim& claim, int worker) {
  Entry& e = *claim.entry;
  const auto task_at = [&](int i) { return e.order.empty() ? i : e.order[static_cast<size_t>(i)]; };
  const int end = claim.begin + claim.count;
  for (int i = claim.begin, task = task_at(i), next; i < end; ++i, task = next) {
    next = i + 1 < end ? task_at(i + 1) : task;
    const auto is_skipped = [&] {
      return task > std::min(claim.failed, e.first_failed.load(std::memory_order_relaxed));
    };
    if (e.takes_two && i + 1 < end && !is_skipped() &&
        e.job->begin_two(claim.stage, task, next, worker))
      std::swap(task, next);
    if (is_skipped()) {
      ++claim.skipped;
      continue;
    }
    try {
      e.job->run(claim.stage, task, worker);
    } catch (...) {
      claim.error = std::current_exception();
      claim.failed = task;
      ++claim.skipped;
    }
  }
}

void Scheduler::end_claim(Claim& claim, int64_t begin, int64_t now, Wakeups& wakeups) {
  Entry& e = *claim.entry;
  if (claim.error && claim.failed < e.first_failed) {
    e.first_failed = claim.failed;
    std::swap(e.error, claim.error);
    // With an order, tasks with lower numbers may still come.
    if (e.order.empty()) e.next_task = e.num_tasks;
  }
  if (claim.skipped == 0) {
    const double ns = static_cast<double>(now - begin) / claim.count;
    double& average = e.stages->task_ns_[claim.stage];
    average = average <= 0 ? ns : average + kAverageWeight * (ns - average);
  }
  --e.running;
  if (!e.cancelled) advance(e, now, wakeups);
  else if (e.running == 0) done_.notify_all();
}

void Scheduler::worker_loop(int worker) {
  works_for = this;
  WorkerTimes& times = times_[worker];
  int64_t now = now_ns();  // time stamps are reused, since they are a part of the cost of a claim
  times.begin(now);
  bool woke = false;
  Wakeups wakeups;
  std::unique_lock lock(mutex_);
  while (true) {
    const bool is_active = worker < active_;
    Entry* e = is_active ? find_work() : nullptr;
    if (e == nullptr) {
      if (wakeups.any()) {
        lock.unlock();
        wake(wakeups);
        spin_lock(lock);
        continue;
      }
      if (closing_) return;
      now = is_active ? sleep(lock, worker, now) : park(lock, worker, now);
      woke = true;
      continue;
    }
    Claim claim = make_claim(*e);
    add_worker(wakeups);
    lock.unlock();
    wake(wakeups);

    const int64_t begin = woke ? now : now_ns();
    woke = false;
    times.begin_claim(begin);
    run(claim, worker);
    now = now_ns();
    times.end_claim(begin, now);

    spin_lock(lock);
    end_claim(claim, begin, now, wakeups);
    if (claim.error) {  // destroying it may need another lock, such as Python's
      lock.unlock();
      claim.error = nullptr;
      lock.lock();
    }
  }
}

}  // namespace torchdali
