// SPDX-License-Identifier: Apache-2.0
#include "executor/graph/fuse_expressions.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace torchdali {
namespace {

constexpr std::string_view kOperator = "arithmetic", kSteps = "steps";

// Whether a node is one step that refers to inputs only, all of which it has. What a definition
// records is; a node of a damaged document may not be, and is left for the operator to refuse.
bool is_step(const Node& node) {
  if (node.schema->name != kOperator) return false;
  const auto found = node.args.find(kSteps);
  if (found == node.args.end()) return false;
  const auto* steps = std::get_if<std::vector<std::string>>(&found->second);
  if (steps == nullptr || steps->size() != 1) return false;
  constexpr size_t kMaxDigits = 6;
  const std::string& text = steps->front();
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%') return false;
    if (text[at] != '&') continue;
    const std::string digits = text.substr(at + 1, text.find(' ', at) - at - 1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (digits.empty() || digits.size() > kMaxDigits ||
        !std::all_of(digits.begin(), digits.end(), is_digit) ||
        std::stoul(digits) >= node.inputs.size())
      return false;
  }
  return true;
}

// For each node, the one that it becomes a part of, or itself: the step that all its uses lead to.
std::vector<int> find_roots(const Graph& graph) {
  constexpr int kNone = -1, kOutside = -2;
  const int count = static_cast<int>(graph.nodes.size());
  std::vector<int> roots(count, kNone);
  const auto used_outside = [&](Edge e) { roots[e.node] = kOutside; };
  std::for_each(graph.outputs.begin(), graph.outputs.end(), used_outside);
  for (int i = count - 1; i >= 0; --i) {
    const Node& node = graph.nodes[i];
    if (roots[i] < 0) roots[i] = i;
    for (const auto& [name, e] : node.argument_inputs) used_outside(e);
    for (const Guard& g : node.guards) used_outside(g.predicate);
    for (Edge e : node.inputs) {
      int& root = roots[e.node];
      const Node& producer = graph.nodes[e.node];
      const bool fits = is_step(node) && is_step(producer) && root != kOutside &&
                        (root == kNone || root == roots[i]) &&
                        covers(producer.guards, graph.nodes[roots[i]].guards);
      root = fits ? roots[i] : kOutside;
    }
  }
  return roots;
}

// One expression being put together: `steps` over `inputs`, from the nodes `members`.
struct Expression {
  std::vector<int> members;
  std::vector<Edge> inputs;
  std::vector<std::string> steps;
};

// Adds the step of a node. Its inputs (&0, &1 ...) become inputs of the expression, or results of
// steps (%0, %1 ...) before it.
void add_step(Expression& expression, const Graph& graph, int index, const std::vector<int>& roots,
              std::vector<int>& step_index) {
  const Node& node = graph.nodes[index];
  const std::string& own =
      std::get<std::vector<std::string>>(node.args.find(kSteps)->second).front();
  std::string text;
  for (size_t at = 0; at < own.size();) {
    if (own[at] != '&') {
      text += own[at++];
      continue;
    }
    size_t input = 0;
    for (++at; at < own.size() && own[at] != ' '; ++at) input = 10 * input + (own[at] - '0');
    const Edge edge = node.inputs[input];
    if (roots[edge.node] == roots[index]) {
      text += "%" + std::to_string(step_index[edge.node]);
      continue;
    }
    auto& inputs = expression.inputs;
    const auto found = std::find(inputs.begin(), inputs.end(), edge);
    text += "&" + std::to_string(found - inputs.begin());
    if (found == inputs.end()) inputs.push_back(edge);
  }
  step_index[index] = static_cast<int>(expression.steps.size());
  expression.members.push_back(index);
  expression.steps.push_back(std::move(text));
}

}  // namespace

Graph fuse_expressions(Graph graph) {
  const int count = static_cast<int>(graph.nodes.size());
  const std::vector<int> roots = find_roots(graph);
  std::vector<int> step_index(count);
  std::map<int, Expression> expressions;  // by root
  for (int i = 0; i < count; ++i)
    if (is_step(graph.nodes[i])) add_step(expressions[roots[i]], graph, i, roots, step_index);
  std::erase_if(expressions, [](const auto& e) { return e.second.members.size() == 1; });
  if (expressions.empty()) return graph;

  for (auto& [root, expression] : expressions) {
    Node& node = graph.nodes[root];
    for (int member : expression.members)
      if (member != root)
        node.producers.push_back(std::make_shared<const Node>(graph.nodes[member]));
    node.inputs = std::move(expression.inputs);
    node.args.find(kSteps)->second = std::move(expression.steps);
  }
  // What is left moves up.
  std::vector<int> position(count);
  std::vector<Node> kept;
  for (int i = 0; i < count; ++i) {
    position[i] = static_cast<int>(kept.size());
    if (roots[i] == i) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);
  const auto move = [&](Edge& e) { e.node = position[e.node]; };
  for (Node& n : graph.nodes) {
    std::for_each(n.inputs.begin(), n.inputs.end(), move);
    for (auto& [name, edge] : n.argument_inputs) move(edge);
    for (Guard& g : n.guards) move(g.predicate);
  }
  std::for_each(graph.outputs.begin(), graph.outputs.end(), move);
  return graph;
}

}  // namespace torchdali
