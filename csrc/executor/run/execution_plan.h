// SPDX-License-Identifier: Apache-2.0
// ExecutionPlan: everything that is decided before the first batch. An iteration passes sample
// stages and batch stages in turn. In a sample stage, a worker takes one sample through all steps;
// in a batch stage, steps see the whole batch. Values between steps are in slots.
// docs/design/engine.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/memory/storage.h"
#include "core/operator.h"
#include "core/threads/crash_report.h"
#include "executor/graph/graph.h"

namespace torchdali {

// One node of the graph, as it runs.
struct Step {
  struct Guard {
    int slot = 0;
    bool value = true;
  };
  int node = 0;
  const Operator* op = nullptr;
  std::vector<int> inputs, arguments, outputs;  // slots
  std::vector<Guard> guards;                    // samples that fail a guard skip the step
  std::vector<int> batches;    // per output: the batch of the plan that it is written to, or -1
  std::vector<int> last_uses;  // slots that no later step of the sample stage uses
  // Nodes that know the names of the samples (SampleNames): the Sources that the inputs descend
  // from, those of the first input first, or batch-wide operators in their place.
  std::vector<int> sources;
  std::vector<int> output_sources;  // the same for the outputs
  uint64_t seed = 0;
  crash::Task task;
};

// What a worker does with one sample without waiting for other samples.
struct SampleStage {
  std::vector<int> steps;
  std::vector<int> loads;  // slots whose values come from earlier stages
  int takes_two = -1;      // the first of `steps` whose operator does; -1: none
};

struct BatchStage {
  std::vector<int> steps;
  bool ordered = false;  // BatchTraits::ordered of any step
};

// The batch that a value is in: one that steps fill, or one that the user passed to an external
// source.
struct ValueBatch {
  int batch = -1;          // of the plan
  int external_node = -1;  // of the graph
};

struct ExecutionPlan {
  Graph graph;
  std::vector<std::unique_ptr<Operator>> operators;  // per node
  std::vector<int> sources;                          // nodes whose operator is a Source
  std::vector<Step> steps;                           // per node
  std::vector<SampleStage> sample_stages;            // may be empty
  std::vector<BatchStage> batch_stages;  // number i runs between sample stages i and i + 1
  int num_slots = 0;

  // A value that a later stage uses is kept for all samples of the batch.
  std::vector<int> kept;            // per slot: index in `kept_in`, or -1
  std::vector<ValueBatch> kept_in;  // per kept value
  std::vector<ValueBatch> outputs;  // of the pipeline

  // Batches that steps fill: outputs of the pipeline and kept values.
  int num_batches = 0;
  std::vector<MemoryKind> memory_kinds;  // per batch
  std::vector<bool> is_output;           // per batch: of the pipeline

  int first_device_stage = -1;  // of batch_stages; -1: the plan uses no GPU
  int last_device_stage = -1;
  // Batches in device memory that nothing uses after the last device stage.
  std::vector<int> intermediates;

  // The nodes that know the names of the samples of a pipeline output.
  const std::vector<int>& sources_of_output(int output) const {
    return steps[static_cast<size_t>(graph.outputs[static_cast<size_t>(output)].node)]
        .output_sources;
  }
};

// `graph` was verified and rewritten.
ExecutionPlan make_execution_plan(Graph graph, int max_batch_size, int num_threads);

}  // namespace torchdali
