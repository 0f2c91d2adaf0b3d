// SPDX-License-Identifier: Apache-2.0
// fuse_expressions(): the steps of an expression become one node, which evaluates them tile by
// tile.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "executor/graph/edges.h"
#include "executor/graph/passes.h"

namespace torchdali {
namespace {

using Kind = ExpressionOperand::Kind;

// The steps of `node` (a Node or a const Node), or null if it has none.
template <class NodeType>
auto* find_steps(NodeType& node) {
  decltype(std::get_if<Expression>(&node.args.begin()->second)) steps = nullptr;
  if (node.schema->graph_role == GraphRole::kExpression)
    for (auto& [name, value] : node.args)
      if (auto* expression = std::get_if<Expression>(&value)) steps = expression;
  return steps;
}

// Whether a node is one step on its inputs. Definitions record nothing else; another node can only
// come from a damaged document, and its operator refuses it.
bool is_step(const Node& node) {
  const Expression* steps = find_steps(node);
  if (steps == nullptr || steps->size() != 1) return false;
  return std::all_of(steps->front().operands.begin(), steps->front().operands.end(),
                     [&](const ExpressionOperand& operand) {
                       return operand.kind == Kind::kConstant ||
                              (operand.kind == Kind::kInput && operand.index >= 0 &&
                               operand.index < static_cast<int>(node.inputs.size()));
                     });
}

// For each node, the node that it becomes a part of, or itself: the step that all its uses lead to.
std::vector<int> find_roots(const Graph& graph) {
  constexpr int kNone = -1, kOutside = -2;
  const int count = static_cast<int>(graph.nodes.size());
  std::vector<int> roots(graph.nodes.size(), kNone);
  const auto used_outside = [&](const Edge& e) { roots[static_cast<size_t>(e.node)] = kOutside; };
  std::for_each(graph.outputs.begin(), graph.outputs.end(), used_outside);
  for (int i = count - 1; i >= 0; --i) {
    const Node& node = graph.nodes[static_cast<size_t>(i)];
    const int own = roots[static_cast<size_t>(i)] < 0 ? i : roots[static_cast<size_t>(i)];
    roots[static_cast<size_t>(i)] = own;
    for (const auto& [name, e] : node.argument_inputs) used_outside(e);
    for (const Guard& g : node.guards) used_outside(g.predicate);
    for (const Edge& e : node.inputs) {
      int& root = roots[static_cast<size_t>(e.node)];
      const Node& producer = graph.nodes[static_cast<size_t>(e.node)];
      const bool fits = is_step(node) && is_step(producer) && (root == kNone || root == own) &&
                        covers(producer.guards, graph.nodes[static_cast<size_t>(own)].guards);
      root = fits ? own : kOutside;
    }
  }
  return roots;
}

// The nodes that become one, and what that node has.
struct FusedSteps {
  std::vector<int> members;
  std::vector<Edge> inputs;
  Expression steps;
};

// Appends the step of node `index`. Its inputs become inputs of the expression, or results of
// earlier steps.
void add_step(FusedSteps& fused, const Graph& graph, int index, const std::vector<int>& roots,
              std::vector<int>& step_index) {
  const Node& node = graph.nodes[static_cast<size_t>(index)];
  ExpressionStep step = find_steps(node)->front();
  for (ExpressionOperand& operand : step.operands) {
    if (operand.kind == Kind::kConstant) continue;
    const Edge edge = node.inputs[static_cast<size_t>(operand.index)];
    const auto producer = static_cast<size_t>(edge.node);
    if (roots[producer] == roots[static_cast<size_t>(index)]) {
      operand = {.kind = Kind::kStep, .index = step_index[producer]};
      continue;
    }
    const auto found = std::find(fused.inputs.begin(), fused.inputs.end(), edge);
    operand.index = static_cast<int>(found - fused.inputs.begin());
    if (found == fused.inputs.end()) fused.inputs.push_back(edge);
  }
  step_index[static_cast<size_t>(index)] = static_cast<int>(fused.steps.size());
  fused.members.push_back(index);
  fused.steps.push_back(std::move(step));
}

}  // namespace

Graph fuse_expressions(Graph graph) {
  const int count = static_cast<int>(graph.nodes.size());
  const std::vector<int> roots = find_roots(graph);
  std::vector<int> step_index(graph.nodes.size());
  std::map<int, FusedSteps> expressions;  // by root
  for (int i = 0; i < count; ++i)
    if (is_step(graph.nodes[static_cast<size_t>(i)]))
      add_step(expressions[roots[static_cast<size_t>(i)]], graph, i, roots, step_index);
  std::erase_if(expressions, [](const auto& e) { return e.second.members.size() == 1; });
  if (expressions.empty()) return graph;

  for (auto& [root, fused] : expressions) {
    Node& node = graph.nodes[static_cast<size_t>(root)];
    for (const int member : fused.members)
      if (member != root)
        node.producers.push_back(
            std::make_shared<const Node>(graph.nodes[static_cast<size_t>(member)]));
    node.inputs = std::move(fused.inputs);
    *find_steps(node) = std::move(fused.steps);
  }
  std::vector<int> kept;
  for (int i = 0; i < count; ++i)
    if (roots[static_cast<size_t>(i)] == i) kept.push_back(i);
  return select_nodes(std::move(graph), kept);
}

}  // namespace torchdali
