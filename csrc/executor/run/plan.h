// SPDX-License-Identifier: Apache-2.0
// Plan: all that is decided before the first batch. A segment is a run of per-sample operators; a
// worker takes a sample through all its steps, with the values between them in slots. Between
// segments lie the stages of operators that see a whole batch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/operator.h"
#include "core/place.h"
#include "executor/graph/graph.h"

namespace torchdali {

struct Step {
  struct Guard {
    int slot = 0;
    bool value = true;
  };
  int node = 0;
  const Operator* op = nullptr;
  std::vector<int> inputs, arguments, outputs;  // slots
  std::vector<Guard> guards;   // a sample for which one does not hold skips the step
  std::vector<int> batches;    // per output: index of the pipeline's batch it is written to, or -1
  std::vector<int> last_uses;  // slots that nothing of its segment needs after this step
  std::vector<int> sources;    // Source nodes that the inputs descend from, the first input's first
  uint64_t seed = 0;
};

// What a worker does with one sample without waiting for others.
struct Segment {
  std::vector<int> steps;
  std::vector<int> loads;  // slots that come from segments and stages before it
};

// What is done with a whole batch after the segment before it and before the one behind it.
struct BatchStage {
  std::vector<int> steps;  // in this order
  bool ordered = false;    // for one of the steps at least
};

struct Plan {
  Graph graph;
  std::vector<std::unique_ptr<Operator>> operators;  // one a node
  std::vector<int> sources;                          // nodes whose operator is a Source
  std::vector<Step> steps;                           // one a node
  std::vector<Segment> segments;                     // some may be empty
  std::vector<BatchStage> batch_stages;              // stage i lies between segments i and i + 1
  int num_slots = 0;
  // Per slot: index (in `kept_in`) among the values that are kept for all samples of a batch, since
  // a stage or a later segment uses them; -1: none.
  std::vector<int> kept;
  // An output of the pipeline: a batch that the steps fill, or what a FedSource was fed.
  struct Output {
    int batch = -1;
    int fed_node = -1;
  };
  int num_batches = 0;  // different values that steps make and that are outputs or kept
  std::vector<Output> outputs;
  std::vector<Output> kept_in;  // where what is kept lies
  std::vector<Place> places;    // per batch
  std::vector<bool> is_output;  // per batch: of the pipeline
  int first_device_stage = -1;  // of batch_stages; -1: the plan uses no GPU
  int last_device_stage = -1;
  // Batches on the device and in pinned memory that nothing needs after that stage.
  std::vector<int> intermediates;

  // Of the operator that makes a pipeline output.
  const std::vector<int>& sources_of_output(int output) const {
    return steps[static_cast<size_t>(graph.outputs[static_cast<size_t>(output)].node)].sources;
  }
};

// `graph` was verified.
Plan make_plan(Graph graph, int max_batch_size, int num_threads);

}  // namespace torchdali
