// SPDX-License-Identifier: Apache-2.0
// Executor: runs a plan. schedule() starts an iteration, wait() returns the oldest one when it is
// finished.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/source.h"
#include "executor/run/execution_plan.h"
#include "executor/run/fed_batch.h"
#include "executor/run/sample_runner.h"
#include "executor/run/scheduler.h"
#include "gpu/device.h"

namespace torchdali {

struct ExecutorOptions {
  int max_batch_size = 1;
  int num_threads = 1;
  bool inline_only = false;  // run() only, in the thread that calls it
  // Storages of a batch that the user has let go, which are kept for the next ones.
  int kept_storages = 6;               // for the iterations in flight and a few more
  bool keeps_more = true;              // see StoragePool
  bool set_affinity = false;           // bind workers to the CPUs that this process may use
  bool fuse = true;                    // docs/design/fusion.md
  bool memory_stats = false;           // collect memory_statistics()
  OnError on_error = OnError::kRaise;  // of nodes that do not say it
  std::shared_ptr<gpu::Device> device = nullptr;  // of operators on the GPU
  // The number of iterations in flight that may start work on the GPU; 0: no limit.
  int gpu_depth = 0;
};

// The position of a pipeline: after the last iteration that was taken, whatever is scheduled.
struct ExecutorState {
  int64_t iterations = 0;                      // taken, failed ones included
  uint64_t samples = 0;                        // in them; the id of the next sample
  std::map<std::string, SourceState> sources;  // by the name of the operator
};

// Used by one thread, the consumer; see Scheduler.
//
// schedule() and wait() are transactions. schedule() takes data from all sources or, if it throws
// or the data has ended, from none. What wait() returns is returned again until settle() says that
// the user has it. begun() tells a caller that was interrupted whether its schedule() took place.
class Executor {
 public:
  // With `workers`, it runs on the threads of another executor, with the same `num_threads`. Then
  // one consumer thread uses both, and waits for the iterations of one before it uses the other.
  Executor(Graph graph, const ExecutorOptions& options, const Executor* workers = nullptr);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Gets the next batch from the sources and submits it to the workers, without waiting for them.
  // Returns false at the end of the data. `fed`: the data of all external sources. `sample_ids`: of
  // the batch, for random values; without sources they also give its size. Empty: the ids continue
  // those of the iteration before.
  bool schedule(std::vector<FedBatch> fed = {}, std::vector<uint64_t> sample_ids = {});
  // Runs one iteration of a plan whose sources are all external, which stands by itself: its
  // samples have the ids 0, 1, ..., and `seeds` are IterationData::seeds. Returns null if the
  // workers run it: wait() gets it then. Everything else runs in this thread.
  std::shared_ptr<const IterationData> run(std::vector<FedBatch> fed, int batch_size,
                                           std::vector<uint64_t> seeds);
  // Drops the next batch of all sources but external ones, because the data of an external source
  // could not be made. Returns false at the end of the data.
  bool skip();
  // The number of iterations that took data, or would have but for an error of the data.
  int64_t begun() const { return begun_; }
  // Returns the oldest scheduled iteration, or null after `timeout`. Throws the error of that
  // iteration; later iterations continue.
  std::shared_ptr<const IterationData> wait(std::chrono::milliseconds timeout);
  // Whether wait() has returned an iteration that it will return again.
  bool holds() const { return holds_; }
  // The user has the iteration that wait() returned.
  void settle();
  // begun() before the oldest iteration that was scheduled and not settled; -1: there is none.
  int64_t oldest() const;
  // The batch of output `index`; null if the output is data of an external source.
  const Batch* output(const IterationData& iteration, int index) const {
    const int batch = plan_.outputs[index].batch;
    return batch < 0 ? nullptr : iteration.batches[batch].get();
  }
  const ExternalBatch& external_output(const IterationData& iteration, int index) const {
    const int node = plan_.outputs[index].external_node;
    return static_cast<const ExternalBatch&>(*iteration.source_batches[node]);
  }
  // Makes the current stream of the calling thread wait for the outputs.
  void hand_over(const IterationData& iteration) const;
  // The names of the samples of an output, or null.
  std::shared_ptr<const SampleNames> names(const IterationData& iteration, int index) const {
    const auto* names = find_names(plan_.sources_of_output(index), iteration.source_batches);
    return names == nullptr ? nullptr : *names;
  }
  // Frees pooled memory that neither an iteration nor the user references. Any thread.
  void release_unused_memory();
  const ExecutionPlan& plan() const { return plan_; }
  int num_outputs() const { return static_cast<int>(plan_.outputs.size()); }
  // Iterations that were scheduled and not settled.
  int pending() const { return scheduler_->pending() + static_cast<int>(holds_.load()); }
  void cancel();
  // As Scheduler::cancel(timeout).
  bool cancel(std::chrono::milliseconds timeout) {
    return has_no_jobs() || scheduler_->cancel(timeout);
  }
  bool on_worker() const { return scheduler_->on_worker(); }
  std::vector<std::thread::native_handle_type> threads() { return scheduler_->handles(); }
  void close() { scheduler_->close(); }
  // Restarts the sources after the end of the data.
  void reset();
  // Drops all scheduled iterations. Sources that support it continue with the samples of `plan` and
  // then end. Without sources, the plan gives the number of samples.
  void set_epoch_plan(const EpochPlan& plan);
  std::optional<ReaderMeta> reader_meta(const std::string& name);
  ExecutorState state();
  // Continues where state() was called. Called before the first schedule(). Throws OperatorError if
  // a source cannot continue from its state.
  void restore(const ExecutorState& state);
  int64_t iterations_taken() const { return taken_.iterations; }
  // The workers that take tasks: see Scheduler.
  void set_active_threads(int count) { scheduler_->set_active_threads(count); }
  int active_threads() const { return scheduler_->active_threads(); }
  // Readers read at least so many batches ahead: see Source.
  void set_batches_ahead(int count) {
    for (const int n : plan_.sources) source(n).set_batches_ahead(count);
  }
  // Per step, since the start.
  std::vector<OperatorMeasure> operator_measures() const { return meters_.read(plan_); }
  SchedulerMeasure scheduler_measure() const { return scheduler_->measure(); }
  // Maxima of the measures start over.
  void reset_maxima() {
    meters_.reset_maxima();
    scheduler_->reset_maxima();
  }
  // The owner of its events in a trace.
  uint32_t trace_owner() const { return meters_.owner; }
  // Per operator of the definition; fused operators, which have no memory, are zero.
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
  // Checks batches of the user. Returns the node of each.
  std::vector<int> accept(const std::vector<FedBatch>& fed);
  void prepare_next();
  // Gets the batches of the sources that have none yet for the next iteration, `next_`; of external
  // sources only if `externals`. Returns false at the end of the data; the batches so far are kept.
  bool get_source_batches(bool externals);
  // Sets the size of the next iteration. External sources without a size get it too: `nodes`, if
  // all samples of their batches in `fed` have failed.
  void set_batch_size(Iteration& iteration, const std::vector<int>& nodes,
                      const std::vector<FedBatch>& fed) const;
  // Gives an iteration, which has its source batches, what it needs to run.
  void begin(Iteration& iteration, const std::vector<int>& nodes, const std::vector<FedBatch>& fed,
             std::vector<uint64_t> sample_ids);
  void submit(std::shared_ptr<Iteration> iteration);
  // Whether all jobs of the scheduler are those of other executors, which must not be cancelled:
  // another thread may be running them.
  bool has_no_jobs() const { return shares_scheduler_ && in_flight_.empty(); }
  // The oldest iteration in flight was taken.
  void mark_taken();
  void add_memory(const IterationData& iteration);
  void note_source(int node, int64_t start);

  ExecutionPlan plan_;
  const ExecutorOptions options_;
  Meters meters_;
  std::vector<std::shared_ptr<StoragePool>> pools_;     // per batch of the plan
  std::vector<std::unique_ptr<SampleRunner>> runners_;  // per worker
  std::shared_ptr<Iteration> next_;  // an iteration that does not have all its source batches yet
  std::deque<std::shared_ptr<const IterationData>> in_flight_;  // oldest first
  std::shared_ptr<Iteration> held_;  // the oldest in flight, if wait() has returned it
  std::atomic<bool> holds_ = false;
  int64_t made_ = 0;  // iterations, also those that were not scheduled
  uint64_t next_sample_id_ = 0;
  int64_t scheduled_ = 0;
  std::atomic<int64_t> begun_ = 0;
  Taken taken_;
  std::optional<EpochPlan> epoch_plan_;  // only without sources
  int64_t epoch_position_ = 0;           // of the next batch
  std::vector<OutputMemory> memory_;     // per slot; empty without memory statistics
  std::shared_ptr<JobStages> stages_;
  bool shares_scheduler_ = false;
  std::shared_ptr<Scheduler> scheduler_;  // last, so that its threads end first
};

}  // namespace torchdali
