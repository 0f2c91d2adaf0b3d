// SPDX-License-Identifier: Apache-2.0
// Meters: how long the steps of a plan take. Each worker writes its own meters; any thread may
// read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/counters.h"
#include "core/trace.h"
#include "executor/run/execution_plan.h"

namespace torchdali {

// One step on one worker. Times and bytes are those of the samples that were timed.
struct alignas(64) StepMeter {
  Counter skipped;  // samples that failed before the step, or failed a guard of it
  Counter timed, ns, bytes;
  Maximum max_ns;
  // The batch stage of the step.
  Counter batches, batch_samples, batch_ns, batch_bytes;
  Maximum max_batch_ns;
};

// One sample stage on one worker: decides which samples are timed. Time stamps cost two thirds of
// the time of a trivial sample, so only as many samples are timed as keep their share below kShare.
class alignas(64) SampleStageMeter {
 public:
  // Counts a sample. Returns whether to time it.
  bool next() {
    samples.add(1);
    return samples.get() >= next_timed_;
  }
  // Records that a sample was timed, with `stamps` time stamps.
  void was_timed(int64_t ns, size_t stamps) {
    average_ns_ += (static_cast<double>(ns) - average_ns_) * (average_ns_ == 0 ? 1 : kWeight);
    const double cost = kStampNs * static_cast<double>(stamps);
    const auto every = static_cast<int64_t>(cost / (kShare * (average_ns_ + 1)));
    // At random distances, since a fixed distance may always hit the same index in the batch.
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    next_timed_ = samples.get() + 1;
    if (every > 0) next_timed_ += every / 2 + static_cast<int64_t>((random_ >> 33) % (every + 1));
  }

  Counter samples;

 private:
  static constexpr double kStampNs = 60;  // the clock and the counters, measured
  static constexpr double kShare = 0.005;
  static constexpr double kWeight = 1.0 / 16;
  int64_t next_timed_ = 1;
  double average_ns_ = 0;
  uint64_t random_ = 1;
};

struct alignas(64) WorkerMeter {
  explicit WorkerMeter(const ExecutionPlan& plan)
      : steps(plan.steps.size()), stages(plan.sample_stages.size()) {}
  std::vector<StepMeter> steps;
  std::vector<SampleStageMeter> stages;
};

// One source: the time to decide which samples a batch has.
struct SourceMeter {
  Counter batches, ns;
  Maximum max_ns;
};

// The sums of all workers for one operator.
struct OperatorMeasure {
  struct Part {
    std::string op, name, location;
  };
  Part self;
  std::vector<Part> parts;  // of a fused operator: the operators of the user, in order
  bool hidden = false, on_gpu = false;
  int64_t samples = 0, timed = 0, ns = 0, max_ns = 0, bytes = 0;
  int64_t batches = 0, batch_samples = 0, batch_ns = 0, max_batch_ns = 0, batch_bytes = 0;
  int64_t source_batches = 0, source_ns = 0, max_source_ns = 0;
  std::map<std::string, int64_t> counts;  // CountsReasons::counts()
};

class Meters {
 public:
  Meters(const ExecutionPlan& plan, int num_threads);
  std::vector<OperatorMeasure> read(const ExecutionPlan& plan) const;
  // Maxima start over.
  void reset_maxima();

  std::vector<std::unique_ptr<WorkerMeter>> workers;
  std::vector<SourceMeter> sources;  // per node
  // Labels of the trace.
  const uint32_t owner = trace::new_owner();
  std::vector<trace::Label> steps, stages, source_labels;  // per step
  trace::Label sample_label;
};

}  // namespace torchdali
