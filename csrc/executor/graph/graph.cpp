// SPDX-License-Identifier: Apache-2.0
#include "executor/graph/graph.h"

#include <algorithm>

#include "executor/graph/edges.h"
#include "executor/graph/operator_error.h"

namespace torchdali {
namespace {

// `num_outputs`: of each node before it.
void verify_node(const Graph& graph, int index, const std::vector<int>& num_outputs) {
  const Node& node = graph.nodes[index];
  const Schema& schema = *node.schema;
  const auto required = std::count_if(schema.inputs.begin(), schema.inputs.end(),
                                      [](const InputSchema& i) { return !i.optional; });
  const auto given = static_cast<ptrdiff_t>(node.inputs.size());
  TORCHDALI_CHECK(given >= required && given <= schema.max_inputs, "takes ", required, " to ",
                  schema.max_inputs, " inputs, got ", given);
  const bool runs_on_gpu = node.on_gpu && !schema.external;
  TORCHDALI_CHECK_KIND(kUnsupported,
                       runs_on_gpu ? schema.make_gpu != nullptr : schema.make_cpu != nullptr,
                       "has no implementation for the ", runs_on_gpu ? "GPU" : "CPU");
  for_each_edge(node, [&](const Edge& e) {
    TORCHDALI_ASSERT(e.node >= 0 && e.node < index, "an edge leads to node ", e.node);
    const int outputs = num_outputs[static_cast<size_t>(e.node)];
    TORCHDALI_CHECK(e.output >= 0 && e.output < outputs, "an input is output ", e.output,
                    " of an operator that has ", outputs, " outputs");
  });
  for (const auto& [name, edge] : node.argument_inputs) {
    const ArgSchema* arg = schema.find_arg(name);
    TORCHDALI_CHECK_KIND(kType, arg != nullptr, "has no argument `", name, "`");
    TORCHDALI_CHECK_KIND(kType, arg->arity != Arity::kConstant, "argument `", name,
                         "` takes a constant, not a tensor for each sample");
  }
  for (const auto& [name, value] : node.args)
    TORCHDALI_CHECK_KIND(kType, schema.find_arg(name) != nullptr, "has no argument `", name, "`");
  for (const ArgSchema& arg : schema.args)
    TORCHDALI_CHECK_KIND(
        kType,
        !arg.required || node.args.contains(arg.name) || node.argument_inputs.contains(arg.name),
        "needs the argument `", arg.name, "`");
}

}  // namespace

OpSpec make_spec(const Node& node, int max_batch_size, int num_threads,
                 std::vector<Edge>* argument_edges) {
  OpSpec spec;
  spec.schema = node.schema;
  spec.name = node.name;
  spec.num_inputs = static_cast<int>(node.inputs.size());
  spec.max_batch_size = max_batch_size;
  spec.num_threads = num_threads;
  spec.seed = node.seed;
  spec.resampled = node.resampled;
  spec.leaves_frames = node.leaves_frames;
  spec.guesses_layouts = node.guesses_layouts;
  spec.constants = node.args;
  // An argument of every operator, which sources of whole files look at.
  if (node.on_error && *node.on_error != OnError::kRaise)
    spec.constants["on_error"] = *node.on_error == OnError::kSkip ? "skip" : "replace";
  for (const auto& [name, edge] : node.argument_inputs) {
    spec.tensors.emplace(name, static_cast<int>(spec.tensors.size()));
    if (argument_edges != nullptr) argument_edges->push_back(edge);
  }
  return spec;
}

int count_outputs(const OpSpec& spec) {
  return spec.schema->num_outputs ? spec.schema->num_outputs(spec)
                                  : static_cast<int>(spec.schema->outputs.size());
}

void verify(const Graph& graph) {
  std::vector<int> num_outputs;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    with_operator_errors(graph.nodes[i], [&] {
      verify_node(graph, i, num_outputs);
      num_outputs.push_back(count_outputs(make_spec(graph.nodes[i], 1, 1, nullptr)));
    });
  }
  for (Edge e : graph.outputs)
    TORCHDALI_ASSERT(e.node >= 0 && e.node < static_cast<int>(graph.nodes.size()),
                     "output of node ", e.node);
}

}  // namespace torchdali
