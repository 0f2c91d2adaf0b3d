// SPDX-License-Identifier: Apache-2.0
// Plan: all that is decided before the first batch. A segment is a run of per-sample operators; a
// worker takes a sample through all its steps, with the values between them in slots.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/operator.h"
#include "executor/graph.h"

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
  std::vector<int> last_uses;  // slots that nothing needs after this step
  std::vector<int> sources;    // Source nodes that the inputs descend from, the first input's first
  uint64_t seed = 0;
};

struct Plan {
  Graph graph;
  std::vector<std::unique_ptr<Operator>> operators;  // one a node
  std::vector<int> sources;                          // nodes whose operator is a Source
  std::vector<Step> steps;
  int num_slots = 0;
  // An output of the pipeline: a batch that the steps fill, or what a FedSource was fed.
  struct Output {
    int batch = -1;
    int fed_node = -1;
  };
  int num_batches = 0;  // different values among the outputs that steps make
  std::vector<Output> outputs;

  // Of the operator that makes a pipeline output.
  const std::vector<int>& sources_of_output(int output) const {
    return steps[static_cast<size_t>(graph.outputs[static_cast<size_t>(output)].node)].sources;
  }
};

// `graph` was verified.
Plan make_plan(Graph graph, int max_batch_size, int num_threads);

}  // namespace torchdali
