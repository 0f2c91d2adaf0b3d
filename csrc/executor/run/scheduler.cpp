// SPDX-License-Identifier: Apache-2.0
#include "executor/run/scheduler.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string>

#include "core/trace.h"

namespace torchdali {
namespace {

// A claim of several tasks costs about as much as this, so that locking stays in the noise and the
// last claims of a batch still end together.
constexpr double kClaimNs = 40e3;
// Waking a thread costs some microseconds and reaches it after tens: less work than this is done
// sooner by the thread that is awake.
constexpr double kWakeNs = 30e3;
constexpr double kAverageWeight = 0.25;

// Tries before a thread sleeps until the lock is free: some microseconds, less than going to sleep
// and being woken cost, and far more than the lock is held.
constexpr int kLockTries = 40;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");  // NOLINT(hicpp-no-assembler)
#endif
}

thread_local const Scheduler* works_for = nullptr;

}  // namespace

Stages::Stages(std::vector<StageTraits> traits)
    : traits_(std::move(traits)), task_ns_(traits_.size(), 0.0) {
  for (int i = 0; i < size(); ++i) {
    if (traits_[static_cast<size_t>(i)].ordered) last_ordered_ = i;
    limited_ = limited_ || traits_[static_cast<size_t>(i)].most > 0;
  }
}

Scheduler::Scheduler(int num_threads, const std::vector<int>& cpus)
    : meters_(new Meter[static_cast<size_t>(num_threads)]) {
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

void Scheduler::submit(std::shared_ptr<Job> job, std::shared_ptr<Stages> stages, uint32_t owner) {
  const int64_t now = now_ns();
  Wake who;
  std::unique_lock lock(mutex_, std::defer_lock);
  lock_soon(lock);
  entries_.emplace_back(std::move(job), std::move(stages), owner);
  if (unfinished_++ == 0) {
    drained_ns_ += now - drained_since_;
    if (began_ns_ == 0) began_ns_ = now;
  }
  advance(entries_.back(), now, who);
  lock.unlock();
  wake(who);
}

void Scheduler::lock_soon(std::unique_lock<std::mutex>& lock) const {
  for (int i = 0; i < kLockTries; ++i) {
    if (lock.try_lock()) return;
    pause();
  }
  lock.lock();
}

void Scheduler::wake(Wake& who) {
  if (who.work) work_.notify_one();
  if (who.consumer) done_.notify_all();
  who = {};
}

int64_t Scheduler::drained(int64_t now) const {
  return drained_ns_ + (unfinished_ == 0 ? now - drained_since_ : 0);
}

int Scheduler::num_ready() const {
  int count = 0;
  for (const Entry& e : entries_) {
    if (!e.finished) break;
    ++count;
  }
  return count;
}

void Scheduler::trace_ready(uint32_t owner) const {
  if (!trace::enabled()) return;
  static const trace::Label label = trace::label("batches ready", "queue");
  trace::add(
      {.start_ns = now_ns(), .ns = num_ready(), .label = label, .owner = owner, .counter = true});
}

void Scheduler::came_to_take() {
  if (came_ || entries_.empty()) return;
  came_ = true;
  ++ready_[std::min(static_cast<size_t>(num_ready()), kMaxReady)];
  if (!entries_.front().finished) waiting_since_ = now_ns();
}

void Scheduler::took(int64_t now, uint32_t owner) {
  came_ = false;
  if (waiting_since_ == 0) return;
  const int64_t ns = now - waiting_since_;
  static const trace::Label label = trace::label("waits for a batch", "consumer");
  if (trace::enabled())
    trace::add({.start_ns = waiting_since_, .ns = ns, .label = label, .owner = owner});
  waiting_since_ = 0;
  ++waits_;
  wait_ns_ += ns;
  max_wait_ns_ = std::max(max_wait_ns_, ns);
}

std::shared_ptr<Job> Scheduler::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_, std::defer_lock);
  lock_soon(lock);
  came_to_take();
  consumer_waits_ = true;
  const bool finished =
      done_.wait_for(lock, timeout, [&] { return entries_.empty() || entries_.front().finished; });
  consumer_waits_ = false;
  if (!finished || entries_.empty()) return nullptr;
  const uint32_t owner = entries_.front().owner;
  took(waiting_since_ == 0 ? 0 : now_ns(), owner);
  std::shared_ptr<Job> job = std::move(entries_.front().job);
  const std::exception_ptr error = entries_.front().error;
  const bool admits = entries_.front().stages->limited_;
  entries_.pop_front();
  if (admits && idle_ > 0 && find_work() != nullptr) work_.notify_one();
  trace_ready(owner);
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
  if (left) {
    entries_.swap(dropped);
    if (unfinished_ > 0) drained_since_ = now_ns();
    unfinished_ = 0;
    came_ = false;
    waiting_since_ = 0;
  }
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

SchedulerMeasure Scheduler::measure() const {
  SchedulerMeasure result;
  const std::lock_guard lock(mutex_);
  result.began_ns = began_ns_;
  result.ready = ready_;
  result.waits = waits_;
  result.wait_ns = wait_ns_;
  result.max_wait_ns = max_wait_ns_;
  for (size_t i = 0; i < workers_.size(); ++i) {
    const Meter& meter = meters_[i];
    WorkerMeasure& worker = result.workers.emplace_back();
    // The worker may end its claim meanwhile, which must not count twice.
    int64_t now = 0, since = 0;
    do {
      worker.busy_ns = meter.busy.get();
      since = meter.busy_since.load(std::memory_order_relaxed);
      now = now_ns();
    } while (worker.busy_ns != meter.busy.get());
    if (since != 0) worker.busy_ns += std::max<int64_t>(0, now - since);
    worker.claims = meter.claims.get();
    worker.idle_ns = meter.idle.get();
    worker.waiting_ns = meter.waiting.get();
    if (meter.idle_since != 0) {
      const int64_t idle = drained(now) - meter.drained_before;
      worker.idle_ns += idle;
      worker.waiting_ns += now - meter.idle_since - idle;
    }
    const int64_t begin = meter.begin.load(std::memory_order_relaxed);
    worker.wall_ns = begin == 0 ? 0 : now - begin;
  }
  return result;
}

void Scheduler::reset_greatest() {
  const std::lock_guard lock(mutex_);
  max_wait_ns_ = 0;
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
  return ns <= 0 ? 1 : static_cast<int>(std::clamp(kClaimNs / ns, 1.0, static_cast<double>(left)));
}

bool Scheduler::worth_waking(const Entry& e) const {
  const double ns = e.stages->task_ns_[e.stage];
  return ns <= 0 || ns * (e.num_tasks - e.next_task) >= kWakeNs;
}

// Moves an entry over stages that have nothing (left) to do.
void Scheduler::advance(Entry& e, int64_t now, Wake& who) {
  while (e.next_task >= e.num_tasks && e.running == 0 && !e.finished) {
    if (!e.error) ++e.stage;
    if (e.error || e.stage >= e.stages->size()) {
      e.finished = true;
    } else {
      e.next_task = 0;
      e.num_tasks = e.job->num_tasks(e.stage);
      e.order = e.job->order(e.stage);
    }
  }
  if (e.finished) {
    if (--unfinished_ == 0) drained_since_ = now;
    trace_ready(e.owner);
    who.consumer = who.consumer || consumer_waits_;
  }
  if (idle_ > 0 && find_work() != nullptr) who.work = true;
}

int64_t Scheduler::sleep(std::unique_lock<std::mutex>& lock, Meter& meter, int64_t now) {
  meter.idle_since = now;
  meter.drained_before = drained(now);
  ++idle_;
  work_.wait(lock);
  --idle_;
  const int64_t woke = now_ns(), idle = drained(woke) - meter.drained_before;
  meter.idle.add(idle);
  meter.waiting.add(woke - now - idle);
  meter.idle_since = 0;
  return woke;
}

// A failure stops the tasks that are numbered higher. Those below it run all the same, here or
// where they are claimed, so the lowest failing task is always found.
void Scheduler::run(Claim& claim, int worker) {
  Entry& e = *claim.entry;
  for (int i = claim.begin; i < claim.begin + claim.count; ++i) {
    const int task = e.order.empty() ? i : e.order[static_cast<size_t>(i)];
    if (task > std::min(claim.failed, e.first_failed.load(std::memory_order_relaxed))) {
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

void Scheduler::worker_loop(int worker) {
  works_for = this;
  Meter& meter = meters_[worker];
  int64_t now = now_ns();  // stamps are shared: they are a part of what a claim costs
  meter.begin = now;
  bool woke = false;
  Wake who;
  std::unique_lock lock(mutex_);
  while (true) {
    Entry* e = find_work();
    if (e == nullptr) {
      if (who.work || who.consumer) {
        lock.unlock();
        wake(who);
        lock_soon(lock);
        continue;
      }
      if (closing_) return;
      now = sleep(lock, meter, now);
      woke = true;
      continue;
    }
    Claim claim{.entry = e, .stage = e->stage, .begin = e->next_task, .count = claim_size(*e)};
    e->next_task += claim.count;
    ++e->running;
    if (idle_ > 0) {
      const Entry* more = find_work();
      if (more != nullptr && worth_waking(*more)) who.work = true;
    }
    lock.unlock();
    wake(who);

    const int64_t start = woke ? now : now_ns();
    woke = false;
    meter.busy_since.store(start, std::memory_order_relaxed);
    run(claim, worker);
    now = now_ns();
    const int64_t busy = now - start;
    meter.busy_since.store(0, std::memory_order_relaxed);
    meter.busy.add(busy);
    meter.claims.add(1);

    lock_soon(lock);
    if (claim.error && claim.failed < e->first_failed) {
      e->first_failed = claim.failed;
      std::swap(e->error, claim.error);
      // In another order, tasks that are numbered lower may come yet.
      if (e->order.empty()) e->next_task = e->num_tasks;
    }
    if (claim.skipped == 0) {
      const double ns = static_cast<double>(busy) / claim.count;
      double& average = e->stages->task_ns_[claim.stage];
      average = average <= 0 ? ns : average + kAverageWeight * (ns - average);
    }
    --e->running;
    if (e->cancelled) {
      if (e->running == 0) done_.notify_all();
    } else {
      advance(*e, now, who);
    }
    if (claim.error) {  // it may hold what needs another lock to be let go, such as Python's
      lock.unlock();
      claim.error = nullptr;
      lock.lock();
    }
  }
}

}  // namespace torchdali
