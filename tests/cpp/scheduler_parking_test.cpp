// SPDX-License-Identifier: Apache-2.0
// executor/scheduler: workers that are parked and woken while jobs run; small enough for TSan.
// sources: csrc/executor/run/scheduler*.cpp csrc/core/trace.cpp
// sanitizers: address thread
#include <functional>
#include <random>

#include "executor/run/scheduler.h"
#include "expect.h"

namespace {

using torchdali::Job;
using torchdali::JobStages;
using torchdali::Scheduler;
using namespace std::chrono_literals;

// Notes which worker ran each task, and how often.
class NotingJob : public Job {
 public:
  explicit NotingJob(int tasks) : runs(static_cast<size_t>(tasks)), workers(runs.size()) {}
  int num_tasks(int) const override { return static_cast<int>(runs.size()); }
  void run(int, int task, int worker) override {
    if (nap > 0us) std::this_thread::sleep_for(nap);
    ++runs[static_cast<size_t>(task)];
    workers[static_cast<size_t>(task)] = worker;
  }
  std::vector<std::atomic<int>> runs;
  std::vector<std::atomic<int>> workers;
  std::chrono::microseconds nap = 0us;
};

std::shared_ptr<JobStages> one_stage() {
  return std::make_shared<JobStages>(std::vector<torchdali::StageTraits>(1));
}

std::shared_ptr<NotingJob> take(Scheduler& s) {
  return std::static_pointer_cast<NotingJob>(s.wait(10s));
}

void parked_workers_take_no_tasks_and_others_take_all() {
  Scheduler s(4);
  const auto stages = one_stage();
  EXPECT(s.active_threads() == 4);
  for (int count : {1, 3, 2, 4}) {
    s.set_active_threads(count);
    EXPECT(s.active_threads() == count);
    for (int i = 0; i < 20; ++i) {
      const auto job = std::make_shared<NotingJob>(16);
      job->nap = 20us;
      s.submit(job, stages);
    }
    while (s.pending() > 0) {
      const auto job = take(s);
      for (auto& n : job->runs) EXPECT(n == 1);
      for (auto& worker : job->workers) EXPECT(worker < count);
    }
  }
}

// A wake-up that reaches a worker which is about to park must not be lost.
void no_task_is_left_while_workers_are_parked_and_woken() {
  Scheduler s(4);
  const auto stages = one_stage();
  std::mt19937 random(3);
  std::atomic<bool> ends = false;
  std::thread other([&] {
    std::mt19937 own(5);
    while (!ends) {
      s.set_active_threads(1 + static_cast<int>(own() % 4));
      std::this_thread::sleep_for(std::chrono::microseconds(own() % 200));
    }
  });
  for (int i = 0; i < 2000; ++i) {
    s.submit(std::make_shared<NotingJob>(1 + static_cast<int>(random() % 9)), stages);
    if (s.pending() < 3) continue;
    const auto job = take(s);
    EXPECT(job != nullptr);
    for (auto& n : job->runs) EXPECT(n == 1);
  }
  ends = true;
  other.join();
}

void the_time_of_parked_workers_is_neither_idle_nor_waiting() {
  Scheduler s(2);
  s.set_active_threads(1);
  for (int n = 0; n < 2000 && s.measure().workers[1].parked_ns == 0; ++n)
    std::this_thread::sleep_for(1ms);
  const auto before = s.measure().workers[1];
  const auto job = std::make_shared<NotingJob>(4);
  job->nap = 5000us;
  s.submit(job, one_stage());
  take(s);
  const auto after = s.measure().workers;
  EXPECT(after[1].parked_ns - before.parked_ns >= 20'000'000);
  EXPECT(after[1].busy_ns == before.busy_ns && after[1].idle_ns == before.idle_ns &&
         after[1].waiting_ns == before.waiting_ns);
  EXPECT(after[0].parked_ns == 0 && after[0].busy_ns >= 20'000'000);
  EXPECT(after[0].cpu_ns < after[0].busy_ns);  // it slept
}

void closing_ends_parked_workers() {
  Scheduler s(3);
  s.set_active_threads(0);  // one stays
  EXPECT(s.active_threads() == 1);
  s.close();
}

}  // namespace

int main() {
  parked_workers_take_no_tasks_and_others_take_all();
  no_task_is_left_while_workers_are_parked_and_woken();
  the_time_of_parked_workers_is_neither_idle_nor_waiting();
  closing_ends_parked_workers();
  std::puts("scheduler_parking_test: ok");
}
