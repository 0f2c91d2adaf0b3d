// SPDX-License-Identifier: Apache-2.0
// Meters: how long the steps of a plan take. Workers add up on their own; anybody may read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/counters.h"
#include "core/trace.h"
#include "executor/run/plan.h"

namespace torchdali {

// Of one step on one worker. Sums of time and bytes are those of the samples that were timed.
struct StepMeter {
  Counter skipped;  // samples of the segment that did not come to the step, or skip it by a guard
  Counter timed, ns, bytes;
  Maximum max_ns;
  // Of the stage that sees the batch.
  Counter batches, batch_samples, batch_ns, batch_bytes;
  Maximum max_batch_ns;
};

// Of one segment on one worker: when the next sample is timed. Stamps cost two thirds of what a
// trivial sample takes, so as many samples pass untimed as keep their share below kShare.
class SegmentMeter {
 public:
  // Counts a sample; returns whether it is to be timed.
  bool next() {
    samples.add(1);
    return samples.get() >= next_timed_;
  }
  // A sample was timed, by so many stamps.
  void was_timed(int64_t ns, size_t stamps) {
    average_ns_ += (static_cast<double>(ns) - average_ns_) * (average_ns_ == 0 ? 1 : kWeight);
    const double cost = kStampNs * static_cast<double>(stamps);
    const auto every = static_cast<int64_t>(cost / (kShare * (average_ns_ + 1)));
    // At random around that distance: in step with the batches, it would always be one sample.
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    next_timed_ = samples.get() + 1;
    if (every > 0) next_timed_ += every / 2 + static_cast<int64_t>((random_ >> 33) % (every + 1));
  }

  Counter samples;

 private:
  static constexpr double kStampNs = 60;  // the clock and what is added up, measured
  static constexpr double kShare = 0.005;
  static constexpr double kWeight = 1.0 / 16;
  int64_t next_timed_ = 1;
  double average_ns_ = 0;
  uint64_t random_ = 1;
};

struct WorkerMeter {
  explicit WorkerMeter(const Plan& plan)
      : steps(plan.steps.size()), segments(plan.segments.size()) {}
  std::vector<StepMeter> steps;
  std::vector<SegmentMeter> segments;
};

// Of one source: what it takes to decide which samples a batch holds.
struct SourceMeter {
  Counter batches, ns;
  Maximum max_ns;
};

// What is known of one operator, added up over the workers.
struct OperatorMeasure {
  struct Part {
    std::string op, name, location;
  };
  Part self;
  std::vector<Part> parts;  // of a fused operator: what the user called, in this order
  bool hidden = false, on_gpu = false;
  int64_t samples = 0, timed = 0, ns = 0, max_ns = 0, bytes = 0;
  int64_t batches = 0, batch_samples = 0, batch_ns = 0, max_batch_ns = 0, batch_bytes = 0;
  int64_t source_batches = 0, source_ns = 0, max_source_ns = 0;
};

class Meters {
 public:
  Meters(const Plan& plan, int num_threads);
  std::vector<OperatorMeasure> read(const Plan& plan) const;
  // Greatest values are those from now on.
  void reset_greatest();

  std::vector<std::unique_ptr<WorkerMeter>> workers;
  std::vector<SourceMeter> sources;  // per node
  // For the trace.
  const uint32_t owner = trace::new_owner();
  std::vector<trace::Label> steps, stages, source_labels;  // per step
  trace::Label sample_label;
};

}  // namespace torchdali
