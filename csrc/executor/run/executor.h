// SPDX-License-Identifier: Apache-2.0
// Executor: runs a plan. schedule() starts an iteration, wait() takes the oldest finished one.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/run/plan.h"
#include "executor/run/sample_runner.h"
#include "executor/run/scheduler.h"
#include "gpu/device.h"

namespace torchdali {

struct ExecutorOptions {
  int max_batch_size = 1;
  int num_threads = 1;
  bool set_affinity = false;  // bind workers to the processors this process may use
  bool fuse = true;           // docs/design/fusion.md
  bool memory_stats = false;  // record what memory_statistics() gives
  std::shared_ptr<gpu::Device> device = nullptr;  // of the operators that run on a GPU
  // How many iterations that were not taken may be on the GPU, or have been; 0: all.
  int gpu_depth = 0;
};

// Where a pipeline is: behind the last iteration that was taken, whatever is scheduled.
struct ExecutorState {
  int64_t iterations = 0;  // taken, also those that failed
  uint64_t samples = 0;    // in them: what the randomness of the next sample is keyed by
  std::map<std::string, SourceState> sources;  // by the name of the operator
};

// One consumer thread; see Scheduler.
class Executor {
 public:
  // With `workers` it runs on the threads of another executor, with as many `num_threads`. Then one
  // consumer thread drives both, and waits for what one has scheduled before it turns to the other.
  Executor(Graph graph, const ExecutorOptions& options, const Executor* workers = nullptr);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Asks the sources for the next batch and hands it to the workers. Never waits for them. False at
  // the end of the data. `sample_ids`: of the batch, for random values; without sources they also
  // give its size. Empty: the ids follow on those of the iteration before.
  bool schedule(std::vector<uint64_t> sample_ids = {});
  // The outputs of the oldest scheduled iteration, or nothing where `timeout` passed first. Throws
  // the error of that iteration; later ones go on.
  std::shared_ptr<const IterationData> wait(std::chrono::milliseconds timeout);
  // Output `index`: the batch that was made, or else (nullptr) what was fed.
  const Batch* output(const IterationData& iteration, int index) const {
    const int batch = plan_.outputs[index].batch;
    return batch < 0 ? nullptr : iteration.batches[batch].get();
  }
  const FedBatch& fed_output(const IterationData& iteration, int index) const {
    return static_cast<const FedBatch&>(*iteration.source_batches[plan_.outputs[index].fed_node]);
  }
  // Makes the calling thread's current stream wait for the outputs, which it may then use.
  void hand_over(const IterationData& iteration) const;
  // Where the samples of an output come from, or null.
  std::shared_ptr<const SampleNames> names(const IterationData& iteration, int index) const {
    const auto* names = find_names(plan_.sources_of_output(index), iteration.source_batches);
    return names == nullptr ? nullptr : *names;
  }
  // Gives memory back that no iteration uses and the user has let go. Any thread.
  void release_unused_memory();
  const Plan& plan() const { return plan_; }
  int num_outputs() const { return static_cast<int>(plan_.outputs.size()); }
  int pending() const { return scheduler_->pending(); }
  void cancel() {
    scheduler_->cancel();
    in_flight_.clear();
  }
  // As Scheduler::cancel(timeout).
  bool cancel(std::chrono::milliseconds timeout) { return scheduler_->cancel(timeout); }
  bool on_worker() const { return scheduler_->on_worker(); }
  std::vector<std::thread::native_handle_type> threads() { return scheduler_->handles(); }
  void close() { scheduler_->close(); }
  // Sources start over after the end of the data.
  void reset();
  // Drops what is scheduled; the sources that follow plans give the samples of this one and end.
  // Where there are no sources, the plan says how many samples there are.
  void deal(const EpochPlan& plan);
  void feed(const std::string& name, std::unique_ptr<FedBatch> batch);
  std::optional<ReaderMeta> reader_meta(const std::string& name);
  ExecutorState state();
  // Goes on where state() was called. Before the first schedule(). Throws OperatorError where a
  // source cannot go on with what is said about it.
  void restore(const ExecutorState& state);
  int64_t iterations_taken() const { return taken_.iterations; }
  // Per operator that runs, since the start.
  std::vector<OperatorMeasure> operator_measures() const { return meters_.read(plan_); }
  SchedulerMeasure scheduler_measure() const { return scheduler_->measure(); }
  // Of what is greatest, the greatest from now on counts.
  void reset_greatest() {
    meters_.reset_greatest();
    scheduler_->reset_greatest();
  }
  // What its events in a trace are marked with.
  uint32_t trace_owner() const { return meters_.owner; }
  // Per operator that the definition has, one it was fused with included (it has no memory).
  std::vector<OperatorMemory> memory_statistics() const;

 private:
  class Iteration;
  struct Taken {
    int64_t iterations = 0;
    uint64_t samples = 0;
    std::vector<int64_t> positions;  // per source of the plan
  };
  int find(const std::string& name) const;  // the node of that name
  Source& source(int node) { return static_cast<Source&>(*plan_.operators[node]); }
  // The oldest iteration in flight is the user's now.
  void mark_taken();
  void add_memory(const IterationData& iteration);
  void note_source(int node, int64_t start);

  Plan plan_;
  const ExecutorOptions options_;
  Meters meters_;
  std::vector<std::shared_ptr<StoragePool>> pools_;     // per batch of the plan
  std::vector<std::unique_ptr<SampleRunner>> runners_;  // per worker
  std::shared_ptr<Iteration> next_;                     // not all sources have given their batch
  std::deque<std::shared_ptr<const IterationData>> in_flight_;  // oldest first
  uint64_t next_sample_id_ = 0;
  int64_t scheduled_ = 0;
  Taken taken_;
  std::optional<EpochPlan> dealt_;    // only without sources
  int64_t dealt_position_ = 0;        // of the next batch
  std::vector<OutputMemory> memory_;  // per slot; empty where not wanted
  std::shared_ptr<Stages> stages_;
  std::shared_ptr<Scheduler> scheduler_;  // last: its threads end before the rest goes
};

}  // namespace torchdali
