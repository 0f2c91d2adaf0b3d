// SPDX-License-Identifier: Apache-2.0
// SampleRunner: takes one sample through the steps of a sample stage on one worker.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <vector>

#include "core/batch.h"
#include "executor/graph/operator_error.h"
#include "executor/run/bad_samples.h"
#include "executor/run/execution_plan.h"
#include "executor/run/memory_stats.h"
#include "executor/run/meter.h"
#include "executor/run/scratch.h"

namespace torchdali {

namespace gpu {
class Event;  // gpu/stream.h
}

// The data of one iteration.
struct IterationData {
  int64_t id = 0;      // no other iteration of the executor has it
  int64_t number = 0;  // 0 for the first iteration that was scheduled
  int64_t turn = 0;    // the same, counting also those that failed before they were scheduled
  int batch_size = 0;
  uint64_t first_sample_id = 0;
  std::vector<uint64_t> sample_ids;  // empty: consecutive, from first_sample_id
  // If there are any, the seed of a node is an index in them: plans for operators on tensors take
  // the seeds of each run.
  std::vector<uint64_t> seeds;
  std::vector<std::unique_ptr<SourceBatch>> source_batches;  // per node; null if not a Source
  std::vector<std::unique_ptr<BatchState>> states;           // per node; empty without batch stages
  std::vector<std::shared_ptr<Batch>> batches;               // per batch of the plan
  std::vector<std::vector<SampleView>> kept;                 // [kept value][sample]
  std::vector<IterationMemory> memory;  // per slot; empty without memory statistics
  BadSamples bad;
  std::atomic<bool> cancelled = false;    // the outputs are no longer wanted
  std::shared_ptr<gpu::Event> on_device;  // end of the work on the GPU; null without one

  uint64_t sample_id(int sample) const {
    return sample_ids.empty() ? first_sample_id + static_cast<uint64_t>(sample)
                              : sample_ids[static_cast<size_t>(sample)];
  }
};

// Whether a step merges the branches of a condition.
inline bool merges_branches(const ExecutionPlan& plan, const Step& step) {
  return plan.graph.nodes[static_cast<size_t>(step.node)].schema->graph_role == GraphRole::kMerge;
}
// Extends an error about samples of a batch that differ, where the batch is filled by branches.
inline void add_branch_rule(Error& e) {
  e.set_message(e.message() +
                "; both branches of a condition give one type, number of dimensions and layout");
}

// One worker thread. Shares no cache line with the runner of another one.
class alignas(64) SampleRunner final : private SampleMemory {
 public:
  SampleRunner(const ExecutionPlan& plan, Meters& meters, int worker);
  // Runs a sample stage for one sample, unless the sample is bad. An OperatorError is thrown, or
  // makes the sample a bad one.
  void run(IterationData& iteration, int stage, int sample);
  // Begins samples of a stage that takes two, unless `first` was begun before, and continues both
  // in the operator that takes two until that is done with one of them. Returns whether that is
  // `second`, so that `first` can be continued with another one. run() ends them; a sample for
  // which it is not called is forgotten. Raises nothing.
  bool begin_two(IterationData& iteration, int stage, int first, int second);
  // The memory, and the largest block, of this worker that held value `slot`; 0 without memory
  // statistics. Any thread.
  int64_t reserved(int slot) const {
    const int64_t own = block_bytes_[slot].load(std::memory_order_relaxed);
    return own + (second_ ? second_->reserved(slot) : 0);
  }
  int64_t largest_block(int slot) const {
    const int64_t own = block_bytes_[slot].load(std::memory_order_relaxed);
    return std::max(own, second_ ? second_->largest_block(slot) : 0);
  }

 private:
  // A sample that was begun: the steps before the one that takes two ran, or raised `error`.
  struct Begun {
    int64_t iteration = 0;  // its ID
    int stage = 0, sample = -1;
    bool timed = false;
    int64_t own_ns = 0, shared_ns = 0;  // before that step, and half of the time of continue_two()
    std::exception_ptr error;
    std::unique_ptr<BegunSample> rest;  // of the step that takes two; null if it was not begun
  };

  SampleRunner(const ExecutionPlan& plan, Meters& meters, int worker, bool has_second);
  void begin(IterationData& iteration, int stage_index, int sample);
  // Whether another sample is of use to the one that was begun.
  bool is_waiting() const { return begun_.rest != nullptr && !begun_.rest->is_done(); }
  bool has_begun(const IterationData& iteration, int stage, int sample) const {
    return begun_.sample == sample && begun_.stage == stage && begun_.iteration == iteration.id;
  }
  void forget();
  // Sets the sample and loads its values.
  void enter(IterationData& iteration, const SampleStage& stage, int sample);
  void enter(const Step& step);
  void run_stage(IterationData& iteration, int stage_index, int sample);
  // Steps [from, to) of a stage. The first of them continues `begun`, if there is one.
  template <bool kTimed>
  void run_steps(const SampleStage& stage, size_t from, size_t to, BegunSample* begun = nullptr);
  void run_timed(const SampleStage& stage, SampleStageMeter& meter);
  // Converts an error of the current step, and frees the memory of the sample.
  OperatorError fail(const Error& cause, const SampleStage& stage);
  // Records that step `step` ran since the last time stamp.
  void note_step(int step, bool traced);
  void allocate_output(int output, SampleView& view) override;
  void alias_output(int output, int input) override;
  void* allocate_scratch(size_t bytes) override;
  bool is_read_later(int output, int64_t bytes) const override;
  void copy_to_output(int output, void* to, const void* from, int64_t bytes) override;
  bool guards_hold(const Step& step) const;
  void keep(const Step& step);
  void record_memory(const Step& step);
  void allocate_in_batch(int batch, SampleView& view);
  void release(int slot);
  void release_scratch();

  const ExecutionPlan& plan_;
  Meters& meters_;
  WorkerMeter& meter_;
  int64_t stamp_ns_ = 0;  // start of the current step, if the sample is timed
  ScratchPool pool_;
  std::vector<SampleView> values_;                 // per slot
  std::vector<ScratchPool::Block*> owners_;        // per slot: the block of the value, or null
  std::vector<ScratchPool::Block*> scratch_;       // of the current operator
  std::vector<std::atomic<int64_t>> block_bytes_;  // per slot
  SampleContext ctx_;
  const Step* step_ = nullptr;
  crash::Work* work_ = nullptr;  // of the thread that runs this
  IterationData* iteration_ = nullptr;
  Begun begun_;                           // its sample is -1 if none was begun
  std::unique_ptr<SampleRunner> second_;  // of the second of two; null if no stage takes two
};

}  // namespace torchdali
