// SPDX-License-Identifier: Apache-2.0
// executor/scheduler: order of delivery, errors, cancelling, closing; small enough for TSan.
// sources: csrc/executor/run/scheduler*.cpp csrc/core/trace.cpp
// sanitizers: address thread
#include "executor/run/scheduler.h"

#include <algorithm>
#include <functional>
#include <random>
#include <stdexcept>

#include "expect.h"

namespace {

using torchdali::Job;
using torchdali::JobStages;
using torchdali::StageTraits;
using namespace std::chrono_literals;

// Counts how often each task ran; may wait, may fail.
class CountingJob : public Job {
 public:
  CountingJob(int id, std::vector<int> tasks) : id(id), tasks_(std::move(tasks)) {
    for (int n : tasks_) runs_.emplace_back(n);
  }
  int num_tasks(int stage) const override { return tasks_[stage]; }
  void run(int stage, int task, int worker) override {
    EXPECT(worker >= 0);
    // Stages of a job never overlap: all of the stage before has run.
    if (stage > 0)
      for (auto& n : runs_[stage - 1]) EXPECT(n.load() == 1);
    if (before) before(stage, task);
    ++runs_[stage][task];
  }
  bool all_ran_once() const {
    for (const auto& stage : runs_)
      for (const auto& n : stage)
        if (n.load() != 1) return false;
    return true;
  }
  int runs(int stage, int task) const { return runs_[stage][task]; }
  const int id;
  std::function<void(int, int)> before;

 private:
  std::vector<int> tasks_;
  std::vector<std::vector<std::atomic<int>>> runs_;
};

// All jobs have the same stages.
class Scheduler : public torchdali::Scheduler {
 public:
  Scheduler(int num_threads, std::vector<StageTraits> stages)
      : torchdali::Scheduler(num_threads),
        stages_(std::make_shared<JobStages>(std::move(stages))) {}
  void submit(std::shared_ptr<Job> job) { torchdali::Scheduler::submit(std::move(job), stages_); }

 private:
  std::shared_ptr<JobStages> stages_;
};

void a_limited_stage_admits_few_jobs() {
  for (int threads : {1, 3}) {
    Scheduler s(threads, {{}, {.ordered = true, .most = 2}, {}});
    std::vector<std::shared_ptr<CountingJob>> jobs;
    std::atomic<int> first = 0, limited = 0;
    int taken = 0;
    for (int i = 0; i < 20; ++i) {
      jobs.push_back(std::make_shared<CountingJob>(i, std::vector<int>{3, 1, 2}));
      jobs.back()->before = [&](int stage, int task) {
        if (stage == 0 && task == 2) ++first;
        if (stage == 1) ++limited;
      };
      s.submit(jobs.back());
    }
    for (; taken < 20; ++taken) {
      for (int n = 0; n < 2000 && (first < 20 || limited < std::min(taken + 2, 20)); ++n)
        std::this_thread::sleep_for(1ms);
      EXPECT(first == 20);  // the others wait in front of it
      EXPECT(limited == std::min(taken + 2, 20));
      const auto job = std::static_pointer_cast<CountingJob>(s.wait(10s));
      EXPECT(job == jobs[static_cast<size_t>(taken)] && job->all_ran_once());
    }
  }
}

std::shared_ptr<CountingJob> take(Scheduler& s) {
  return std::static_pointer_cast<CountingJob>(s.wait(10s));
}

void jobs_come_back_in_order_whatever_finished_first() {
  for (int threads : {1, 2, 8}) {
    Scheduler s(threads, {{}, {}, {}});
    std::mt19937 random(7);
    int next = 0;
    for (int i = 0; i < 300; ++i) {
      auto job = std::make_shared<CountingJob>(
          i, std::vector<int>{static_cast<int>(random() % 9), static_cast<int>(random() % 70), 1});
      const int nap_us = static_cast<int>(random() % 50);
      job->before = [nap_us](int, int) {
        std::this_thread::sleep_for(std::chrono::microseconds(nap_us));
      };
      if (i % 3 == 0) job->before = nullptr;
      s.submit(job);
      if (s.pending() > 4) {
        const auto done = take(s);
        EXPECT(done->id == next++ && done->all_ran_once());
      }
    }
    while (s.pending() > 0) EXPECT(take(s)->id == next++);
    EXPECT(next == 300);
  }
}

void ordered_stage_sees_jobs_one_at_a_time_in_order() {
  Scheduler s(4, {{}, {.ordered = true}, {}});
  std::atomic<int> inside{0};
  int last = -1;  // unsynchronized on purpose: the ordered stage alone must protect it
  for (int i = 0; i < 200; ++i) {
    auto job = std::make_shared<CountingJob>(i, std::vector<int>{5, 1, 3});
    job->before = [&, i](int stage, int) {
      if (stage != 1) return;
      EXPECT(++inside == 1);
      EXPECT(last == i - 1);
      last = i;
      --inside;
    };
    s.submit(job);
    if (s.pending() > 3) EXPECT(take(s)->all_ran_once());
  }
  while (s.pending() > 0) take(s);
  EXPECT(last == 199);
}

void ordered_stages_are_passed_together() {
  Scheduler s(4, {{.ordered = true}, {}, {.ordered = true}});
  std::vector<int> seen;  // unsynchronized on purpose
  for (int i = 0; i < 200; ++i) {
    auto job = std::make_shared<CountingJob>(i, std::vector<int>{1, 4, 1});
    job->before = [&, i](int stage, int) {
      if (stage != 1) seen.push_back(2 * i + stage / 2);
    };
    if (i % 7 == 3)
      job->before = [&, i](int stage, int) {
        if (stage != 1) seen.push_back(2 * i + stage / 2);
        if (stage == 2) throw std::runtime_error("fails");
      };
    s.submit(job);
  }
  for (int i = 0; i < 200; ++i) {
    try {
      take(s);
      EXPECT(i % 7 != 3);
    } catch (const std::runtime_error&) {
      EXPECT(i % 7 == 3);
    }
  }
  EXPECT(seen.size() == 400);
  for (int i = 0; i < 400; ++i) EXPECT(seen[i] == i);
}

void the_lowest_failing_task_is_reported_and_later_jobs_go_on() {
  for (int threads : {1, 2, 8}) {
    for (int round = 0; round < 50; ++round) {
      Scheduler s(threads, {{}});
      auto bad = std::make_shared<CountingJob>(0, std::vector<int>{64});
      bad->before = [](int, int task) {
        if (task % 10 == 7) throw std::runtime_error(std::to_string(task));
      };
      auto good = std::make_shared<CountingJob>(1, std::vector<int>{64});
      s.submit(bad);
      s.submit(good);
      try {
        take(s);
        EXPECT(false);
      } catch (const std::runtime_error& e) {
        EXPECT(std::string(e.what()) == "7");
      }
      for (int t = 0; t < 7; ++t) EXPECT(bad->runs(0, t) == 1);
      EXPECT(take(s)->all_ran_once() && s.pending() == 0);
    }
  }
}

// Tasks begin in an order of the job's.
class OrderedJob : public CountingJob {
 public:
  OrderedJob(int id, std::vector<int> order)
      : CountingJob(id, {static_cast<int>(order.size())}), order_(std::move(order)) {}
  std::span<const int> order(int /*stage*/) const override { return order_; }

 private:
  std::vector<int> order_;
};

// Takes two tasks at a time. Every third task needs longer than the others.
class PairingJob : public OrderedJob {
 public:
  PairingJob(int id, std::vector<int> order, int threads)
      : OrderedJob(id, std::move(order)),
        expected_(static_cast<size_t>(threads), -1),
        waiting_(static_cast<size_t>(threads), -1) {}
  bool takes_two(int /*stage*/) const override { return true; }
  bool begin_two(int /*stage*/, int first, int second, int worker) override {
    EXPECT(runs(0, first) == 0 && runs(0, second) == 0);
    const auto w = static_cast<size_t>(worker);
    // What was begun and has not run goes on, with another task.
    EXPECT(before || waiting_[w] < 0 || runs(0, waiting_[w]) > 0 || waiting_[w] == first);
    const bool second_first = first % 3 == 0;
    expected_[w] = second_first ? second : first;
    waiting_[w] = second_first ? first : second;
    ++pairs;
    return second_first;
  }
  void run(int stage, int task, int worker) override {
    int& expected = expected_[static_cast<size_t>(worker)];
    EXPECT(expected < 0 || task == expected);
    expected = -1;
    OrderedJob::run(stage, task, worker);
  }
  std::atomic<int> pairs = 0;

 private:
  std::vector<int> expected_, waiting_;  // per worker
};

void two_tasks_are_begun_together_and_then_run() {
  for (int threads : {1, 2, 5})
    for (int round = 0; round < 20; ++round) {
      Scheduler s(threads, {{}});
      std::vector<int> order(40 + round);
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(order.size() - 1 - i);
      const auto job = std::make_shared<PairingJob>(0, order, threads);
      const auto bad = std::make_shared<PairingJob>(1, order, threads);
      bad->before = [](int, int task) {
        if (task == 12) throw std::runtime_error("12");
      };
      s.submit(job);
      s.submit(bad);
      EXPECT(std::static_pointer_cast<CountingJob>(take(s))->all_ran_once());
      EXPECT(job->pairs >= 10);
      try {
        take(s);
        EXPECT(false);
      } catch (const std::runtime_error& e) {
        EXPECT(std::string(e.what()) == "12");
      }
    }
}

void tasks_begin_in_the_order_of_the_job() {
  Scheduler s(1, {{}});
  std::vector<int> order(50);
  for (int i = 0; i < 50; ++i) order[i] = 49 - i;
  for (int round = 0; round < 5; ++round) {
    std::vector<int> seen;
    auto job = std::make_shared<OrderedJob>(round, order);
    job->before = [&](int, int task) { seen.push_back(task); };
    s.submit(job);
    EXPECT(take(s)->all_ran_once());
    EXPECT(seen == order);
  }
}

void the_lowest_failing_task_is_reported_in_any_order() {
  std::mt19937 random(3);
  for (int threads : {1, 2, 8}) {
    for (int round = 0; round < 60; ++round) {
      Scheduler s(threads, {{}});
      std::vector<int> order(64);
      for (int i = 0; i < 64; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      auto bad = std::make_shared<OrderedJob>(0, order);
      bad->before = [](int, int task) {
        if (task % 10 == 7) throw std::runtime_error(std::to_string(task));
      };
      s.submit(bad);
      s.submit(std::make_shared<OrderedJob>(1, order));
      try {
        take(s);
        EXPECT(false);
      } catch (const std::runtime_error& e) {
        EXPECT(std::string(e.what()) == "7");
      }
      for (int t = 0; t < 7; ++t) EXPECT(bad->runs(0, t) == 1);
      EXPECT(take(s)->all_ran_once() && s.pending() == 0);
    }
  }
}

void what_workers_and_the_consumer_do_adds_up() {
  Scheduler s(2, {{}});
  const auto add = [&](int id) {
    auto job = std::make_shared<CountingJob>(id, std::vector<int>{4});
    job->before = [](int, int) { std::this_thread::sleep_for(2ms); };
    s.submit(job);
  };
  for (int i = 0; i < 5; ++i) {
    add(i);
    take(s);
  }
  std::this_thread::sleep_for(30ms);
  add(5);
  std::this_thread::sleep_for(50ms);
  take(s);
  const auto all = s.measure();
  // The consumer waits for the first five and not for the last, unless the machine is busy.
  EXPECT(all.waits == all.ready[0] && all.ready[0] + all.ready[1] == 6);
  EXPECT(all.max_wait_ns <= all.wait_ns && (all.wait_ns > 0) == (all.waits > 0));
  int64_t busy = 0, idle = 0;
  for (const auto& w : all.workers) {
    EXPECT(w.busy_ns >= 0 && w.idle_ns >= 0 && w.waiting_ns >= 0 && w.claims > 0);
    EXPECT(w.busy_ns + w.idle_ns + w.waiting_ns <= w.wall_ns);
    busy += w.busy_ns;
    idle += w.idle_ns;
  }
  EXPECT(busy >= 24 * 2'000'000 && idle >= 2 * 30'000'000);
  s.reset_maxima();
  EXPECT(s.measure().max_wait_ns == 0);
}

void wait_gives_up_after_its_timeout() {
  Scheduler s(1, {{}});
  std::atomic<bool> go{false};
  auto job = std::make_shared<CountingJob>(0, std::vector<int>{1});
  job->before = [&](int, int) {
    while (!go) std::this_thread::sleep_for(1ms);
  };
  s.submit(job);
  EXPECT(s.wait(5ms) == nullptr && s.pending() == 1);
  go = true;
  EXPECT(take(s)->id == 0);
}

void cancel_drops_all_and_leaves_the_scheduler_usable() {
  Scheduler s(2, {{}, {}});
  for (int round = 0; round < 100; ++round) {
    std::vector<std::weak_ptr<Job>> jobs;
    for (int i = 0; i < 4; ++i) {
      auto job = std::make_shared<CountingJob>(i, std::vector<int>{16, 16});
      job->before = [](int, int) { std::this_thread::sleep_for(20us); };
      jobs.push_back(job);
      s.submit(std::move(job));
    }
    s.cancel();
    EXPECT(s.pending() == 0);
    for (const auto& job : jobs) EXPECT(job.expired());
    s.submit(std::make_shared<CountingJob>(9, std::vector<int>{3, 3}));
    EXPECT(take(s)->all_ran_once());
  }
}

void closing_does_not_wait_for_work_in_flight() {
  for (int i = 0; i < 50; ++i) {
    Scheduler s(4, {{}});
    for (int j = 0; j < 3; ++j) {  // together a minute and more
      auto job = std::make_shared<CountingJob>(j, std::vector<int>{1'000'000});
      job->before = [](int, int) { std::this_thread::sleep_for(100us); };
      s.submit(job);
    }
    s.close();
    s.close();
  }
}

void empty_jobs_finish() {
  Scheduler s(2, {{}, {}});
  s.submit(std::make_shared<CountingJob>(0, std::vector<int>{0, 0}));
  EXPECT(take(s)->id == 0);
}

}  // namespace

int main() {
  jobs_come_back_in_order_whatever_finished_first();
  ordered_stage_sees_jobs_one_at_a_time_in_order();
  ordered_stages_are_passed_together();
  the_lowest_failing_task_is_reported_and_later_jobs_go_on();
  tasks_begin_in_the_order_of_the_job();
  two_tasks_are_begun_together_and_then_run();
  the_lowest_failing_task_is_reported_in_any_order();
  what_workers_and_the_consumer_do_adds_up();
  wait_gives_up_after_its_timeout();
  cancel_drops_all_and_leaves_the_scheduler_usable();
  closing_does_not_wait_for_work_in_flight();
  empty_jobs_finish();
  a_limited_stage_admits_few_jobs();
  std::puts("scheduler_test: ok");
}
