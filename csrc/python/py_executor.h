// SPDX-License-Identifier: Apache-2.0
// PyExecutor: an Executor as Python uses it. Waits without the GIL and checks for signals.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/threads/process_id.h"
#include "executor/run/executor.h"
#include "python/bind.h"

namespace torchdali {

struct PyDevice {
  std::shared_ptr<gpu::Device> device;
};

// The names of the samples of a batch; names[i] is a str.
struct PySampleNames {
  std::shared_ptr<const SampleNames> names;
};

class PyExecutor {
 public:
  PyExecutor(const nb::list& nodes, const nb::list& outputs, int batch_size, int num_threads,
             bool set_affinity, bool memory_stats, bool fuse, const PyExecutor* workers,
             const PyDevice* device, int gpu_depth, bool guess_layouts, const std::string& on_error,
             bool inline_only, int kept_storages, bool keeps_more);
  PyExecutor(const PyExecutor&) = delete;
  PyExecutor& operator=(const PyExecutor&) = delete;
  ~PyExecutor();

  // Samples that were not made: what to say, and the exception of the user's code.
  using Failed = std::map<int, std::tuple<std::string, nb::object>>;
  // The name of an external source, its data, layout, the names of its samples (or none), and those
  // that were not made.
  using Fed = std::tuple<std::string, nb::object, std::string, std::vector<nb::bytes>, Failed>;
  // Raises StopIteration at the end of the data. As Executor::schedule(), it takes the data of all
  // sources or of none.
  void schedule(const std::vector<Fed>& fed, std::vector<uint64_t> sample_ids);
  // The batches of iterations that a source makes of data that was fed: a list of PyFedPart.
  // Any thread.
  nb::list divide(const std::string& name, const nb::object& data);
  // The name of an external source, its data and layout. The data is a list, or a sample.
  using Input = std::tuple<std::string, nb::object, std::string>;
  // Executor::run(). Returns a list with (data, layout) of each output. The data is a tensor whose
  // first axis is the samples, or a list of tensors; for `single`, the tensor of the sample.
  nb::list run(const std::vector<Input>& inputs, int batch_size, std::vector<uint64_t> seeds,
               bool single);
  // The same for one sample of the only input, without seeds. Returns the tensor of output 0.
  nb::object run_plain(const std::string& input, const nb::object& sample,
                       const std::string& layout);
  // Raises StopIteration at the end of the data.
  void skip();
  int64_t begun() { return executor().begun(); }
  int64_t oldest() { return executor().oldest(); }
  // (data, layout, names) of each output of the oldest iteration. The data is a tensor, or a list
  // with one for each sample. The same iteration again as long as holds().
  nb::list wait();
  bool holds() { return executor().holds(); }
  void set_holds(bool holds);
  std::weak_ptr<Executor> engine() const { return executor_; }
  // (exceptions, samples, values) if samples of the iteration that wait() returned last have
  // failed: their errors in order, and BadSamples::Rows. Otherwise, and in the second call, None.
  nb::object take_bad_samples() { return std::exchange(bad_samples_, nb::none()); }
  // None for operators that are no readers.
  nb::object reader_meta(const std::string& name);
  bool reader_shuffles(const std::string& name);
  nb::dict state();
  void restore(int64_t iterations, uint64_t samples, std::map<std::string, SourceState> sources);
  int64_t iterations_taken() { return executor().iterations_taken(); }
  // Indices of nodes: those that are left after merging, in the order in which they run, and for
  // each node the one that it was merged into.
  const std::vector<int>& kept() const { return executor().plan().graph.kept; }
  const std::vector<int>& merged_into() const { return executor().plan().graph.merged_into; }
  void set_active_threads(int count) { executor().set_active_threads(count); }
  int active_threads() const { return executor().active_threads(); }
  void set_batches_ahead(int count) { executor().set_batches_ahead(count); }
  nb::dict memory_statistics() const;
  nb::dict measures() const;
  nb::list plan() const;
  void reset_maxima() { executor().reset_maxima(); }
  uint32_t trace_owner() const { return executor().trace_owner(); }
  void reset() { executor().reset(); }
  void set_epoch_plan(const EpochPlan& plan);
  void release_unused_memory() { executor().release_unused_memory(); }
  void cancel();
  void close();
  int pending() const {
    return executor_ == nullptr || process_id() != process_ ? 0 : executor().pending();
  }

 private:
  class WithoutGil;
  std::shared_ptr<const IterationData> run_fed(std::vector<FedBatch> fed, int batch_size,
                                               std::vector<uint64_t> seeds);
  // Waits for the oldest iteration that is scheduled.
  std::shared_ptr<const IterationData> next_iteration();
  // Raises if the executor cannot be used: closed, in a forked child, or on one of its workers.
  Executor& executor() const;

  std::shared_ptr<Executor> executor_;
  nb::object bad_samples_ = nb::none();
  std::atomic<int> threads_in_engine_ = 0;  // that released the GIL
  pid_t process_ = process_id();
};

}  // namespace torchdali
