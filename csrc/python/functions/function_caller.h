// SPDX-License-Identifier: Apache-2.0
// FunctionCaller: calls a user's function for the samples of a batch and converts what it returns.
// All methods need the GIL. docs/design/functions.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/batch_context.h"
#include "core/schema.h"
#include "python/functions/function_inputs.h"
#include "python/functions/function_results.h"
#include "python/functions/global_generators.h"

namespace torchdali {

// What calls the function: one thread in order, all workers, or worker processes.
enum class FunctionWorkers { kNone, kThreads, kProcesses };

class FunctionCaller {
 public:
  FunctionCaller(const OpSpec& spec, ValueKind kind);
  ValueKind kind() const { return kind_; }
  FunctionWorkers workers() const { return workers_; }
  int num_inputs() const { return num_inputs_; }
  int num_outputs() const { return num_outputs_; }
  // Of output i; empty if unknown.
  const Layout& layout(int i) const { return layouts_[static_cast<size_t>(i)]; }
  // Whether call_sample() is called for each sample, on the thread of the worker.
  bool runs_on_threads() const { return workers_ == FunctionWorkers::kThreads && !whole_batch_; }

  // Calls the function for all samples of a batch: one by one, or once with `batch_processing`.
  void call_all(BatchContext& ctx, const FunctionInputs& inputs, FunctionResults& results) const;
  // Calls the function for the samples of a batch in worker processes.
  void call_processes(BatchContext& ctx, FunctionResults& results) const;
  // Calls the function for one sample. `views` are its inputs.
  void call_sample(const std::vector<const SampleView*>& views, const FunctionInputs& inputs,
                   const GlobalGenerators& generators, uint64_t id, int index,
                   FunctionResults& results) const;

 private:
  nb::handle function() const { return static_cast<PyObject*>(function_.get()); }
  std::string name() const;
  nb::object call(const std::vector<nb::object>& arguments) const;
  // Sends the samples to the workers, and stores what they return.
  void send_batch(BatchContext& ctx, FunctionResults& results) const;
  // Makes a call for all samples of a batch. If it fails, all samples have failed.
  static void call_for_all(BatchContext& ctx, const std::function<void()>& call);
  void call_batch(const BatchContext& ctx, const FunctionInputs& inputs,
                  const GlobalGenerators& generators, FunctionResults& results) const;
  // The values of each output in `returned`: the items of a tuple or, for one output, the value
  // itself.
  std::vector<nb::object> outputs_of(const nb::object& returned) const;
  // Stores an output of all samples: a list, or an array whose first axis is the samples.
  void store_batch(const BatchContext& ctx, nb::handle value, int output,
                   FunctionResults& results) const;
  ForeignView to_result(nb::handle value, int output, int gpu) const;
  // Checks that the samples of a batch have one type and number of dimensions.
  void check_uniform(const BatchContext& ctx, const FunctionResults& results) const;

  const ValueKind kind_;
  const Function function_;
  const int num_inputs_, num_outputs_;
  const bool whole_batch_;
  const FunctionWorkers workers_;
  const uint64_t seed_;
  const bool seed_generators_, check_inputs_;
  std::vector<Layout> layouts_;
};

}  // namespace torchdali
