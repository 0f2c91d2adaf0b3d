// SPDX-License-Identifier: Apache-2.0
// sink_into_branches(): an operator that only one branch of a condition uses runs only for the
// samples that take the branch. docs/design/conditionals.md.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "executor/graph/edges.h"
#include "executor/graph/passes.h"

namespace torchdali {
namespace {

using Guards = std::vector<Guard>;

bool merges(const Node& node) { return node.schema->graph_role == GraphRole::kMerge; }

// Calls fn(edge, guards) for each edge of `node`, with the guards under which the node reads it.
template <class Fn>
void for_each_read(const Node& node, Fn&& fn) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    Guards guards = node.guards;
    // Input 0 is read where the predicate, input 2, is true, and input 1 where it is false.
    if (merges(node) && i < 2) guards.push_back({node.inputs[2], i == 0});
    fn(node.inputs[i], guards);
  }
  for (const auto& [name, edge] : node.argument_inputs) fn(edge, node.guards);
  for (auto guard = node.guards.begin(); guard != node.guards.end(); ++guard)
    fn(guard->predicate, Guards(node.guards.begin(), guard));
}

// The order of `graph.nodes`, changed where a predicate comes after a node that it guards.
std::vector<int> topological_order(const Graph& graph) {
  std::vector<int> order;
  std::vector<bool> done(graph.nodes.size());
  std::vector<std::pair<int, bool>> stack;  // a node, and whether all that it depends on is done
  for (int n = static_cast<int>(graph.nodes.size()); n-- > 0;) stack.emplace_back(n, false);
  while (!stack.empty()) {
    const auto [n, ready] = stack.back();
    stack.pop_back();
    if (done[static_cast<size_t>(n)]) continue;
    if (ready) {
      done[static_cast<size_t>(n)] = true;
      order.push_back(n);
      continue;
    }
    std::vector<int> parents;
    for_each_edge(graph.nodes[static_cast<size_t>(n)], [&](const Edge& e) {
      if (!done[static_cast<size_t>(e.node)]) parents.push_back(e.node);
    });
    std::sort(parents.begin(), parents.end(), std::greater<>());  // the first is on top
    stack.emplace_back(n, true);
    for (const int parent : parents) stack.emplace_back(parent, false);
  }
  return order;
}

}  // namespace

Graph sink_into_branches(Graph graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(),
                   [](const Node& node) { return !node.guards.empty() || merges(node); }))
    return graph;
  // The guards that the uses of each node have in common.
  std::vector<std::optional<Guards>> common(graph.nodes.size());
  for (const Edge& e : graph.outputs) common[static_cast<size_t>(e.node)].emplace();
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    const bool fixed = node.schema->source || node.schema->side_effects || node.required;
    // A predicate that depends on the node is not among its guards: the use for that predicate has
    // none of the guards that follow it.
    const std::optional<Guards>& shared = common[n];
    if (!fixed && shared && shared->size() > node.guards.size()) node.guards = *shared;
    for_each_read(node, [&](const Edge& e, const Guards& guards) {
      std::optional<Guards>& of_uses = common[static_cast<size_t>(e.node)];
      if (!of_uses) of_uses = guards;
      const auto end =
          std::mismatch(of_uses->begin(), of_uses->end(), guards.begin(), guards.end());
      of_uses->erase(end.first, of_uses->end());
    });
  }
  const std::vector<int> order = topological_order(graph);
  return select_nodes(std::move(graph), order);
}

}  // namespace torchdali
