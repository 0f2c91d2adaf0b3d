// SPDX-License-Identifier: Apache-2.0
#include "executor/rewrite.h"

#include <algorithm>

#include "executor/fuse_expressions.h"

namespace torchdali {
namespace {

// `consumer`, reading nothing but output 0 of `producer`, which nobody else uses, becomes `fused`:
// an operator with the consumer's arguments and outputs and the producer's inputs.
struct Rule {
  const char* producer;
  const char* consumer;
  const char* fused;
};
constexpr Rule kRules[] = {
    // Only the region that is resampled is decoded.
    {"decoders.image", "random_resized_crop", "fused.decode_random_resized_crop"},
};

int count_uses(const Graph& graph, int node) {
  const auto is_use = [node](Edge e) { return e.node == node; };
  auto uses = std::count_if(graph.outputs.begin(), graph.outputs.end(), is_use);
  for (const Node& n : graph.nodes) {
    uses += std::count_if(n.inputs.begin(), n.inputs.end(), is_use);
    uses += std::count_if(n.argument_inputs.begin(), n.argument_inputs.end(),
                          [&](const auto& a) { return is_use(a.second); });
    uses += std::count_if(n.guards.begin(), n.guards.end(),
                          [&](const Guard& g) { return is_use(g.predicate); });
  }
  return static_cast<int>(uses);
}

// Replaces the consumer by the fused node; the producer is left without uses.
bool fuse(Graph& graph, Node& consumer) {
  for (const Rule& rule : kRules) {
    if (consumer.schema->name != rule.consumer || consumer.inputs.size() != 1) continue;
    const Edge edge = consumer.inputs[0];
    const Node& producer = graph.nodes[edge.node];
    const Schema* fused = find_schema(rule.fused);
    if (producer.schema->name != rule.producer || !producer.argument_inputs.empty() ||
        fused == nullptr || count_uses(graph, edge.node) != 1 ||
        !covers(producer.guards, consumer.guards))
      continue;
    consumer.fused_schema = consumer.schema;
    consumer.schema = fused;
    consumer.inputs = producer.inputs;
    consumer.producers = {std::make_shared<const Node>(producer)};
    return true;
  }
  return false;
}

// Removes node `index`, which has no uses.
void remove(Graph& graph, int index) {
  graph.nodes.erase(graph.nodes.begin() + index);
  const auto shift = [index](Edge& e) { e.node -= e.node > index; };
  for (Node& n : graph.nodes) {
    std::for_each(n.inputs.begin(), n.inputs.end(), shift);
    for (auto& [name, edge] : n.argument_inputs) shift(edge);
    for (Guard& g : n.guards) shift(g.predicate);
  }
  std::for_each(graph.outputs.begin(), graph.outputs.end(), shift);
}

}  // namespace

Graph rewrite(Graph graph) {
  graph = fuse_expressions(std::move(graph));
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    if (graph.nodes[i].inputs.empty()) continue;
    const int producer = graph.nodes[i].inputs[0].node;
    if (!fuse(graph, graph.nodes[i])) continue;
    remove(graph, producer);
    --i;
  }
  return graph;
}

}  // namespace torchdali
