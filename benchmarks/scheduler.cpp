// SPDX-License-Identifier: Apache-2.0
// Measures the overhead of the scheduler for benchmarks/scheduler.py; prints one JSON object. Tasks
// either spin or sleep. Sleeping tasks need no core, so 64 workers can be simulated anywhere.
#include "executor/run/scheduler.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>

namespace {

using torchdali::Job;
using torchdali::JobStages;
using torchdali::now_ns;
using torchdali::Scheduler;
using namespace std::chrono_literals;

void burn(int64_t ns) {
  const int64_t end = now_ns() + ns;
  while (now_ns() < end) {
  }
}

class Batch final : public Job {
 public:
  // `sorted`: claim the longest tasks first.
  Batch(std::vector<int64_t> lengths, bool sleeps, bool sorted = false)
      : lengths_(std::move(lengths)), sleeps_(sleeps) {
    if (!sorted) return;
    order_.resize(lengths_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int a, int b) {
      return lengths_[static_cast<size_t>(a)] > lengths_[static_cast<size_t>(b)];
    });
  }
  std::span<const int> order(int /*stage*/) const override { return order_; }
  int num_tasks(int /*stage*/) const override { return static_cast<int>(lengths_.size()); }
  void run(int /*stage*/, int task, int /*worker*/) override {
    if (first_ns == 0) first_ns = now_ns();
    const int64_t ns = lengths_[static_cast<size_t>(task)];
    if (sleeps_) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
    else if (ns > 0) burn(ns);
  }
  std::atomic<int64_t> first_ns{0};  // when a worker began

 private:
  const std::vector<int64_t> lengths_;
  std::vector<int> order_;
  const bool sleeps_;
};

// Task lengths with a log-normal distribution, like decoding times of images.
std::vector<int64_t> lengths(std::mt19937& random, int count, double mean_ns, double sigma) {
  std::lognormal_distribution<double> drawn(std::log(mean_ns) - sigma * sigma / 2, sigma);
  std::vector<int64_t> all;
  for (int i = 0; i < count; ++i) all.push_back(static_cast<int64_t>(drawn(random)));
  return all;
}

// Runs batches; prints the overhead of a claim and the share of time that threads are busy.
void run(int threads, int batch, int depth, double task_ns, double sigma, bool sleeps, bool sorted,
         double seconds) {
  Scheduler scheduler(threads);
  const auto stages = std::make_shared<JobStages>(std::vector<torchdali::StageTraits>(1));
  std::mt19937 random(1);
  const auto submit = [&] {
    scheduler.submit(
        std::make_shared<Batch>(lengths(random, batch, task_ns, sigma), sleeps, sorted), stages);
  };
  for (int i = 0; i < depth; ++i) submit();
  const auto take = [&] {
    while (scheduler.wait(10s) == nullptr) {
    }
    submit();
  };
  for (int i = 0; i < 2 * depth; ++i) take();
  const auto sum = [&] {
    torchdali::WorkerMeasure all;
    for (const auto& w : scheduler.measure().workers) {
      all.wall_ns += w.wall_ns;
      all.busy_ns += w.busy_ns;
      all.idle_ns += w.idle_ns;
      all.waiting_ns += w.waiting_ns;
      all.claims += w.claims;
    }
    return all;
  };
  const auto before = sum();
  const int64_t end = now_ns() + static_cast<int64_t>(1e9 * seconds);
  int64_t samples = 0;
  while (now_ns() < end) {
    take();
    samples += batch;
  }
  const auto after = sum();
  // On a busy machine, all tasks may belong to one claim that has begun before.
  const auto claims = std::max(static_cast<double>(after.claims - before.claims), 1.0);
  const auto wall = static_cast<double>(after.wall_ns - before.wall_ns);
  const auto part = [&](int64_t torchdali::WorkerMeasure::* ns) {
    return static_cast<double>(after.*ns - before.*ns);
  };
  const double busy = part(&torchdali::WorkerMeasure::busy_ns);
  const double rest = wall - busy - part(&torchdali::WorkerMeasure::idle_ns) -
                      part(&torchdali::WorkerMeasure::waiting_ns);
  std::printf(
      "{\"threads\": %d, \"batch\": %d, \"depth\": %d, \"task_us\": %g, \"sleeps\": %s, "
      "\"sorted\": %s, "
      "\"busy\": %.4f, \"claim_overhead_ns\": %.0f, \"tasks_per_claim\": %.1f}",
      threads, batch, depth, task_ns / 1e3, sleeps ? "true" : "false", sorted ? "true" : "false",
      busy / wall, rest / claims, static_cast<double>(samples) / claims);
}

template <class Body>
double median(int rounds, Body&& body) {
  std::vector<double> values;
  for (int i = 0; i < rounds; ++i) values.push_back(body());
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The time from submit() until a sleeping worker runs the task.
double wake_ns() {
  Scheduler scheduler(1);
  const auto stages = std::make_shared<JobStages>(std::vector<torchdali::StageTraits>(1));
  return median(300, [&] {
    std::this_thread::sleep_for(1ms);
    const auto job = std::make_shared<Batch>(std::vector<int64_t>{0}, false);
    const int64_t start = now_ns();
    scheduler.submit(job, stages);
    scheduler.wait(10s);
    return static_cast<double>(job->first_ns - start);
  });
}

// The overhead of a claim without contention: taking the lock twice, and the work under it.
double claim_ns() {
  return median(15, [] {
    Scheduler scheduler(1);
    const auto stages = std::make_shared<JobStages>(std::vector<torchdali::StageTraits>(1));
    // Two jobs at once, so that the worker never sleeps. Tasks of 45 us are claimed one at a time.
    for (int i = 0; i < 2; ++i)
      scheduler.submit(std::make_shared<Batch>(std::vector<int64_t>(200, 45'000), false), stages);
    std::this_thread::sleep_for(2ms);
    const auto a = scheduler.measure().workers[0];
    std::this_thread::sleep_for(10ms);
    const auto b = scheduler.measure().workers[0];
    scheduler.cancel();
    return static_cast<double>((b.wall_ns - a.wall_ns) - (b.busy_ns - a.busy_ns)) /
           static_cast<double>(std::max<int64_t>(b.claims - a.claims, 1));
  });
}

}  // namespace

// Argument: seconds per run.
int main(int /*argc*/, char** argv) {
  const double seconds = std::atof(argv[1]);
  std::printf("{\"wake_ns\": %.0f, \"claim_ns\": %.0f, \"burning\": [", wake_ns(), claim_ns());
  const char* between = "";
  for (const int threads : {1, 2, 8, 16}) {
    std::printf("%s", between);
    run(threads, 1024, 2, 1e3, 0, false, false, seconds);  // trivial samples: 40 per claim
    between = ", ";
  }
  std::printf("], \"sleeping\": [");
  between = "";
  for (const int threads : {16, 64, 128})
    for (const int batch : {64, 256})
      for (const int depth : {1, 2, 4})
        for (const bool sorted : {false, true}) {
          std::printf("%s", between);
          run(threads, batch, depth, 2e6, 0.5, true, sorted, seconds);
          between = ", ";
        }
  std::printf("]}\n");
}
