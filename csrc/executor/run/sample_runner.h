// SPDX-License-Identifier: Apache-2.0
// SampleRunner: takes one sample through the steps of a segment on one worker.
#pragma once

#include <c10/core/Event.h>

#include <atomic>
#include <memory>
#include <vector>

#include "core/batch.h"
#include "executor/run/memory_stats.h"
#include "executor/run/meter.h"
#include "executor/run/plan.h"
#include "executor/run/scratch.h"

namespace torchdali {

// What the runner needs of an iteration.
struct IterationData {
  int64_t number = 0;  // counted from the first that was scheduled
  int batch_size = 0;
  uint64_t first_sample_id = 0;
  std::vector<uint64_t> sample_ids;  // empty: consecutive, from first_sample_id
  std::vector<std::unique_ptr<SourceBatch>> source_batches;  // per node; null where not a Source
  std::vector<std::unique_ptr<BatchState>> states;  // per node; empty without batch-wide stages
  std::vector<std::shared_ptr<Batch>> batches;      // per batch of the plan
  std::vector<std::vector<SampleView>> kept;        // per kept value, one a sample
  std::vector<IterationMemory> memory;              // per slot; empty where not wanted
  std::atomic<bool> cancelled = false;              // nobody takes the outputs
  std::shared_ptr<c10::Event> on_device;            // when all is there; null without a GPU

  uint64_t sample_id(int sample) const {
    return sample_ids.empty() ? first_sample_id + static_cast<uint64_t>(sample)
                              : sample_ids[static_cast<size_t>(sample)];
  }
};

// One worker thread only.
class SampleRunner final : private SampleMemory {
 public:
  SampleRunner(const Plan& plan, Meters& meters, int worker);
  // Takes a sample through a segment of the plan. Throws OperatorError.
  void run(IterationData& iteration, int segment, int sample);
  // The largest block of this worker that value `slot` was given; 0 without memory statistics. Any
  // thread.
  int64_t largest_block(int slot) const {
    return block_bytes_[slot].load(std::memory_order_relaxed);
  }

 private:
  template <bool kTimed>
  void run_steps(const Segment& segment);
  void run_timed(const Segment& segment, SegmentMeter& meter);
  // The step in hand was run, since the last stamp.
  void note_step(int step, bool traced);
  void allocate_output(int output, SampleView& view) override;
  void alias_output(int output, int input) override;
  void* allocate_scratch(size_t bytes) override;
  bool guards_hold(const Step& step) const;
  void keep(const Step& step);
  void record_memory(const Step& step);
  void allocate_in_batch(int batch, SampleView& view);
  void release(int slot);
  void release_scratch();

  const Plan& plan_;
  Meters& meters_;
  WorkerMeter& meter_;
  int64_t stamp_ns_ = 0;  // when the step in hand began, where the sample is timed
  ScratchPool pool_;
  std::vector<SampleView> values_;                 // per slot
  std::vector<ScratchPool::Block*> owners_;        // per slot: the block it lies in, or null
  std::vector<ScratchPool::Block*> scratch_;       // of the running operator
  std::vector<std::atomic<int64_t>> block_bytes_;  // per slot
  SampleContext ctx_;
  const Step* step_ = nullptr;
  IterationData* iteration_ = nullptr;
};

}  // namespace torchdali
