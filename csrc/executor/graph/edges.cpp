// SPDX-License-Identifier: Apache-2.0
#include "executor/graph/edges.h"

#include <utility>

namespace torchdali {

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.nodes.size());
  for_each_edge(graph, [&](const Edge& e) { ++uses[static_cast<size_t>(e.node)]; });
  return uses;
}

Graph select_nodes(Graph graph, const std::vector<int>& order) {
  std::vector<int> position(graph.nodes.size(), -1);
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (const int n : order) {
    position[static_cast<size_t>(n)] = static_cast<int>(nodes.size());
    nodes.push_back(std::move(graph.nodes[static_cast<size_t>(n)]));
  }
  graph.nodes = std::move(nodes);
  for_each_edge(graph, [&](Edge& e) {
    const int moved = position[static_cast<size_t>(e.node)];
    TORCHDALI_ASSERT(moved >= 0, "a pass dropped node ", e.node, ", which is used");
    e.node = moved;
  });
  return graph;
}

}  // namespace torchdali
