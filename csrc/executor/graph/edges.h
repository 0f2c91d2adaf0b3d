// SPDX-License-Identifier: Apache-2.0
// Walks over the edges of a graph. docs/design/graph.md.
#pragma once

#include <vector>

#include "executor/graph/graph.h"

namespace torchdali {

// Calls fn(edge) for each edge that `node` (a Node or a const Node) depends on.
template <class NodeType, class Fn>
  requires requires(NodeType& node) { node.argument_inputs; }
void for_each_edge(NodeType& node, Fn&& fn) {
  for (auto& edge : node.inputs) fn(edge);
  for (auto& [name, edge] : node.argument_inputs) fn(edge);
  for (auto& guard : node.guards) fn(guard.predicate);
}

// Calls fn(edge) for each edge of `graph` (a Graph or a const Graph), outputs included.
template <class GraphType, class Fn>
  requires requires(GraphType& graph) { graph.nodes; }
void for_each_edge(GraphType& graph, Fn&& fn) {
  for (auto& node : graph.nodes) for_each_edge(node, fn);
  for (auto& edge : graph.outputs) fn(edge);
}

// For each node, the number of edges that lead to it.
std::vector<int> count_uses(const Graph& graph);

// Returns the graph of the nodes `order`, in this order, with the edges renumbered. No edge may
// lead to another node.
Graph select_nodes(Graph graph, const std::vector<int>& order);

}  // namespace torchdali
