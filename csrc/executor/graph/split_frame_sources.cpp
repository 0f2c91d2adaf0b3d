// SPDX-License-Identifier: Apache-2.0
// split_frame_sources(): sources of sequences whose frames a chain takes one at a time. The source
// decides what its samples are, and a part of it, the decoder of the chain, makes the frames.
#include <algorithm>
#include <memory>
#include <utility>

#include "executor/graph/edges.h"
#include "executor/graph/passes.h"

namespace torchdali {
namespace {

// Inserts the part that makes output 0 of source `n` after it.
Graph divide_source(Graph graph, int n) {
  for_each_edge(graph, [n](Edge& e) { e.node += e.node > n; });
  for_each_edge(graph, [n](Edge& e) {
    if (e == Edge{n, 0}) e.node = n + 1;
  });
  Node& source = graph.nodes[static_cast<size_t>(n)];
  Node part;
  part.schema = find_schema(source.schema->frames_part);
  part.name = source.name + ".frames";
  part.inputs = {{n, 0}};
  part.guards = source.guards;
  part.seed = source.seed;  // both draw the same values
  part.location = source.location;
  part.origin = source.origin;
  part.guesses_layouts = source.guesses_layouts;
  part.on_error = source.on_error;
  part.part_of = {std::make_shared<const Node>(source)};
  source.leaves_frames = true;
  graph.nodes.insert(graph.nodes.begin() + n + 1, std::move(part));
  return graph;
}

// Whether the part of a source is in a chain, and that runs for the same samples as the source.
bool is_chained(const Graph& graph, const Node& part) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return !node.members.empty() && node.members[0].node->schema == part.schema &&
           node.members[0].node->name == part.name && node.guards == part.guards;
  });
}

}  // namespace

Graph split_frame_sources(Graph graph) {
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    const Node& source = graph.nodes[static_cast<size_t>(n)];
    if (source.schema->frames_part.empty() || source.on_gpu) continue;
    Graph divided = divide_source(graph, n);
    const Node part = divided.nodes[static_cast<size_t>(n) + 1];
    if (is_chained(chain_cpu_operators(divided), part)) graph = std::move(divided);
  }
  return graph;
}

}  // namespace torchdali
