// SPDX-License-Identifier: Apache-2.0
#include "executor/run/scheduler_meters.h"

#include <time.h>

#include "core/trace.h"

namespace torchdali {

int64_t cpu_ns(pthread_t thread) {
  clockid_t clock;
  timespec time{};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

WorkerMeasure WorkerTimes::read(const IdleClock& clock) const {
  WorkerMeasure result;
  // If the worker ends its claim meanwhile, read again, so that the claim does not count twice.
  int64_t now = 0, since = 0;
  do {
    result.busy_ns = busy_.get();
    since = busy_since_.load(std::memory_order_relaxed);
    now = now_ns();
  } while (result.busy_ns != busy_.get());
  if (since != 0) result.busy_ns += std::max<int64_t>(0, now - since);
  result.claims = claims_.get();
  result.idle_ns = idle_.get();
  result.waiting_ns = waiting_.get();
  if (asleep_since_ != 0) {
    const int64_t idle = clock.idle_ns(now) - idle_before_;
    result.idle_ns += idle;
    result.waiting_ns += now - asleep_since_ - idle;
  }
  result.parked_ns = parked_.get() + (parked_since_ == 0 ? 0 : now - parked_since_);
  const int64_t begin = begin_.load(std::memory_order_relaxed);
  result.wall_ns = begin == 0 ? 0 : now - begin;
  return result;
}

void ConsumerTimes::end_wait(uint32_t owner) {
  waiting_ = false;
  if (since_ == 0) return;
  const int64_t ns = now_ns() - since_;
  static const trace::Label label = trace::label("waits for a batch", "consumer");
  if (trace::enabled()) trace::add({.start_ns = since_, .ns = ns, .label = label, .owner = owner});
  since_ = 0;
  ++waits_;
  wait_ns_ += ns;
  max_wait_ns_ = std::max(max_wait_ns_, ns);
}

void ConsumerTimes::read(SchedulerMeasure& measure) const {
  measure.ready = ready_;
  measure.waits = waits_;
  measure.wait_ns = wait_ns_;
  measure.max_wait_ns = max_wait_ns_;
}

}  // namespace torchdali
