// SPDX-License-Identifier: Apache-2.0
// What the threads of a Scheduler spend their time on.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/counters.h"

namespace torchdali {

// The time of a worker since it started. The rest of the wall time is the scheduler's own: claims,
// the lock, going to sleep and waking up.
struct WorkerMeasure {
  int64_t wall_ns = 0;
  int64_t busy_ns = 0;     // in tasks
  int64_t idle_ns = 0;     // every submitted job was finished: the consumer is slower
  int64_t waiting_ns = 0;  // jobs were unfinished, but had no task that could be claimed
  int64_t parked_ns = 0;   // Scheduler::set_active_threads()
  int64_t claims = 0;
  int64_t cpu_ns = 0;  // in which it computed, not of the wall time above
};

struct SchedulerMeasure {
  int64_t began_ns = 0;  // when the first job was submitted; 0: not yet
  std::vector<WorkerMeasure> workers;
  // [n]: how often n jobs were finished when the consumer asked for one; the last entry counts
  // larger numbers too.
  std::vector<int64_t> ready;
  // How often, and how long, the consumer waited.
  int64_t waits = 0, wait_ns = 0, max_wait_ns = 0;
};

// The time that a thread has computed; 0 if the system does not tell.
int64_t cpu_ns(pthread_t thread);

// How long no job was unfinished. Under the scheduler's lock.
class IdleClock {
 public:
  void begin_job(int64_t now) {
    if (unfinished_++ > 0) return;
    idle_ns_ += now - idle_since_;
    if (began_ns_ == 0) began_ns_ = now;
  }
  void end_job(int64_t now) {
    if (--unfinished_ == 0) idle_since_ = now;
  }
  void end_all_jobs(int64_t now) {
    if (unfinished_ > 0) idle_since_ = now;
    unfinished_ = 0;
  }
  // Total until `now`.
  int64_t idle_ns(int64_t now) const {
    return idle_ns_ + (unfinished_ == 0 ? now - idle_since_ : 0);
  }
  // When the first job began; 0: not yet.
  int64_t began_ns() const { return began_ns_; }

 private:
  int unfinished_ = 0;  // jobs
  int64_t began_ns_ = 0;
  int64_t idle_since_ = now_ns(), idle_ns_ = 0;
};

// One worker, which writes. Sleep times are under the scheduler's lock.
class alignas(64) WorkerTimes {
 public:
  void begin(int64_t now) { begin_.store(now, std::memory_order_relaxed); }
  void begin_claim(int64_t now) { busy_since_.store(now, std::memory_order_relaxed); }
  void end_claim(int64_t begin, int64_t now) {
    busy_since_.store(0, std::memory_order_relaxed);
    busy_.add(now - begin);
    claims_.add(1);
  }
  void begin_sleep(int64_t now, const IdleClock& clock) {
    asleep_since_ = now;
    idle_before_ = clock.idle_ns(now);
  }
  void end_sleep(int64_t now, const IdleClock& clock) {
    const int64_t idle = clock.idle_ns(now) - idle_before_;
    idle_.add(idle);
    waiting_.add(now - asleep_since_ - idle);
    asleep_since_ = 0;
  }
  void begin_park(int64_t now) { parked_since_ = now; }
  void end_park(int64_t now) {
    parked_.add(now - parked_since_);
    parked_since_ = 0;
  }
  // Any thread, under the scheduler's lock.
  WorkerMeasure read(const IdleClock& clock) const;

 private:
  Counter busy_, idle_, waiting_, parked_, claims_;
  std::atomic<int64_t> begin_{0};       // 0: not yet
  std::atomic<int64_t> busy_since_{0};  // 0: in no task
  int64_t asleep_since_ = 0;            // 0: awake
  int64_t parked_since_ = 0;            // 0: active
  int64_t idle_before_ = 0;             // of the IdleClock, when it went to sleep
};

// How the consumer waits. Under the scheduler's lock.
class ConsumerTimes {
 public:
  // The consumer asks for the oldest job, while the first `ready` jobs are finished.
  void begin_wait(size_t ready) {
    if (waiting_) return;
    waiting_ = true;
    ++ready_[std::min(ready, kMaxReady)];
    if (ready == 0) since_ = now_ns();
  }
  // It got the job. `owner`: of the event in a trace.
  void end_wait(uint32_t owner);
  void cancel_wait() {
    waiting_ = false;
    since_ = 0;
  }
  void read(SchedulerMeasure& measure) const;
  void reset_maximum() { max_wait_ns_ = 0; }

 private:
  static constexpr size_t kMaxReady = 16;
  bool waiting_ = false;
  int64_t since_ = 0;  // 0: the job was ready
  std::vector<int64_t> ready_ = std::vector<int64_t>(kMaxReady + 1);
  int64_t waits_ = 0, wait_ns_ = 0, max_wait_ns_ = 0;
};

}  // namespace torchdali
