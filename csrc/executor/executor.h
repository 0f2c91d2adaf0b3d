// SPDX-License-Identifier: Apache-2.0
// Executor: runs a plan. schedule() starts an iteration, wait() takes the oldest finished one.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "executor/plan.h"
#include "executor/sample_runner.h"
#include "executor/scheduler.h"

namespace torchdali {

struct ExecutorOptions {
  int max_batch_size = 1;
  int num_threads = 1;
  bool set_affinity = false;  // bind workers to the processors this process may use
  bool fuse = true;           // docs/design/fusion.md
};

// One consumer thread; see Scheduler.
class Executor {
 public:
  Executor(Graph graph, const ExecutorOptions& options);

  // Asks the sources for the next batch and hands it to the workers. Never waits for them. False at
  // the end of the data.
  bool schedule();
  // The outputs of the oldest scheduled iteration, or nothing where `timeout` passed first. Throws
  // the error of that iteration; later ones go on.
  std::shared_ptr<const IterationData> wait(std::chrono::milliseconds timeout);
  const Batch& output(const IterationData& iteration, int index) const {
    return *iteration.batches[plan_.output_batches[index]];
  }
  // Where the samples of an output come from, or null.
  std::shared_ptr<const SampleNames> names(const IterationData& iteration, int index) const {
    const auto* names = find_names(plan_.sources_of_output(index), iteration.source_batches);
    return names == nullptr ? nullptr : *names;
  }
  // Gives memory back that no iteration uses and the user has let go. Any thread.
  void release_unused_memory();
  int num_outputs() const { return static_cast<int>(plan_.output_batches.size()); }
  int pending() const { return scheduler_->pending(); }
  void cancel() { scheduler_->cancel(); }
  void close() { scheduler_->close(); }
  // Sources start over after the end of the data.
  void reset();
  void feed(const std::string& name, std::unique_ptr<FedBatch> batch);
  std::optional<ReaderMeta> reader_meta(const std::string& name);

 private:
  class Iteration;
  Operator& find(const std::string& name);

  Plan plan_;
  const ExecutorOptions options_;
  std::vector<std::shared_ptr<StoragePool>> pools_;     // per batch of the plan
  std::vector<std::unique_ptr<SampleRunner>> runners_;  // per worker
  std::shared_ptr<Iteration> next_;                     // not all sources have given their batch
  uint64_t next_sample_id_ = 0;
  std::unique_ptr<Scheduler> scheduler_;  // last: its threads end before the rest goes
};

}  // namespace torchdali
