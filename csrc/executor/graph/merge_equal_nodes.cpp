// SPDX-License-Identifier: Apache-2.0
// merge_equal_nodes(): common subexpression elimination over whole operators.
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "executor/graph/edges.h"
#include "executor/graph/passes.h"

namespace torchdali {
namespace {

// A string of bytes that is equal for equal nodes. Numbers are compared by their bytes, so NaN is
// equal to itself and -0.0 differs from 0.0.
class Key {
 public:
  explicit Key(const Node& node) {
    add(node.schema);
    add(node.on_gpu);
    add(node.seed);
    add(node.on_error ? static_cast<int>(*node.on_error) : -1);
    add_all(node.inputs);
    add_all(node.argument_inputs);
    add_all(node.guards);
    add_all(node.args);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
    requires std::is_scalar_v<T>
  void add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  void add(const Edge& edge) {
    add(edge.node);
    add(edge.output);
  }
  void add(const Guard& guard) {
    add(guard.predicate);
    add(guard.value);
  }
  template <class First, class Second>
  void add(const std::pair<First, Second>& pair) {
    add(pair.first);
    add(pair.second);
  }
  void add(std::monostate) {}
  void add(const Bytes& bytes) { add(*bytes); }
  void add(const Function& function) { add(function.get()); }
  void add(const Code& code) {
    add(code.owner.get());
    add(code.address);
  }
  void add(const ExpressionOperand& operand) {
    add(operand.kind);
    add(operand.dtype);
    add(operand.index);
    add(operand.bits);
  }
  void add(const ExpressionStep& step) {
    add(step.operation);
    add_all(step.operands);
  }
  void add(const Feature& feature) {
    add(feature.name);
    add(feature.fixed);
    add_all(feature.shape);
    add(feature.default_value.index());
    std::visit([this](const auto& value) { add(value); }, feature.default_value);
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add_all(list);
  }
  void add(const ArgValue& value) {
    add(value.index());
    std::visit([this](const auto& v) { add(v); }, value);
  }
  template <class List>
  void add_all(const List& list) {
    add(list.size());
    for (const auto& item : list) add(item);
  }

  std::string bytes_;
};

bool may_merge(const Node& node) {
  return !node.named && !node.schema->side_effects && !node.schema->external;
}

}  // namespace

Graph merge_equal_nodes(Graph graph) {
  const size_t count = graph.nodes.size();
  std::vector<int> merged_into(count), kept;
  std::unordered_map<std::string, int> first;
  for (size_t i = 0; i < count; ++i) {
    Node& node = graph.nodes[i];
    const int n = static_cast<int>(i);
    for_each_edge(node, [&](Edge& e) { e.node = merged_into[static_cast<size_t>(e.node)]; });
    const int equal = may_merge(node) ? first.try_emplace(Key(node).take(), n).first->second : n;
    merged_into[i] = equal;
    if (equal == n) kept.push_back(n);
    else if (node.required) graph.nodes[static_cast<size_t>(equal)].required = true;
  }
  for (Edge& e : graph.outputs) e.node = merged_into[static_cast<size_t>(e.node)];
  graph.merged_into.resize(count);
  for (size_t i = 0; i < count; ++i)
    graph.merged_into[static_cast<size_t>(graph.nodes[i].origin)] =
        graph.nodes[static_cast<size_t>(merged_into[i])].origin;
  return select_nodes(std::move(graph), kept);
}

}  // namespace torchdali
