// SPDX-License-Identifier: Apache-2.0
#include "executor/plan.h"

#include <algorithm>
#include <map>

namespace torchdali {

namespace {

// Values that are a pipeline output for the samples that have them, by way of `conditional.merge`:
// the branches write them right into the batch.
void add_merged(const Graph& graph, std::map<Edge, int>& batches) {
  for (int n = static_cast<int>(graph.nodes.size()) - 1; n >= 0; --n) {
    const Node& node = graph.nodes[n];
    const auto merged = batches.find(Edge{n, 0});
    if (node.schema->name != "conditional.merge" || merged == batches.end()) continue;
    const int batch = merged->second;
    for (const bool taken : {true, false}) {
      const Edge value = node.inputs[taken ? 0 : 1];
      const auto& guards = graph.nodes[value.node].guards;
      const bool own = std::any_of(guards.begin(), guards.end(), [&](const Guard& g) {
        return g.predicate == node.inputs[2] && g.value == taken;
      });
      if (own) batches.emplace(value, batch);
    }
  }
}

}  // namespace

Plan make_plan(Graph graph, int max_batch_size, int num_threads) {
  Plan plan;
  plan.graph = std::move(graph);
  std::map<Edge, int> slots, batches;
  for (Edge e : plan.graph.outputs) {
    if (plan.graph.nodes[e.node].schema->fed) {
      plan.outputs.push_back({.fed_node = e.node});
      continue;
    }
    const auto [it, added] = batches.emplace(e, plan.num_batches);
    plan.num_batches += added;
    plan.outputs.push_back({.batch = it->second});
  }
  add_merged(plan.graph, batches);
  std::vector<int> last_step;  // slot -> step that uses it last
  for (int n = 0; n < static_cast<int>(plan.graph.nodes.size()); ++n) {
    const Node& node = plan.graph.nodes[n];
    std::vector<Edge> argument_edges;
    const OpSpec spec = make_spec(node, max_batch_size, num_threads, &argument_edges);
    try {
      plan.operators.push_back(node.schema->make_cpu(spec));
    } catch (const Error& e) {
      throw OperatorError(e, node);
    }
    if (node.schema->source) plan.sources.push_back(n);

    Step step;
    step.node = n;
    step.op = plan.operators.back().get();
    step.seed = node.seed;
    const auto use = [&](std::vector<int>& to, Edge e) {
      const int slot = slots.at(e);
      to.push_back(slot);
      last_step[slot] = n;
    };
    for (Edge e : node.inputs) use(step.inputs, e);
    for (Edge e : argument_edges) use(step.arguments, e);
    for (const Guard& g : node.guards) {
      const int slot = slots.at(g.predicate);
      step.guards.push_back({slot, g.value});
      last_step[slot] = n;
    }
    for (int i = 0, count = count_outputs(spec); i < count; ++i) {
      slots.emplace(Edge{n, i}, plan.num_slots);
      step.outputs.push_back(plan.num_slots++);
      last_step.push_back(n);
      const auto batch = batches.find(Edge{n, i});
      step.batches.push_back(batch == batches.end() ? -1 : batch->second);
    }
    if (node.schema->source) step.sources.push_back(n);
    for (Edge e : node.inputs)
      for (int source : plan.steps[e.node].sources)
        if (std::find(step.sources.begin(), step.sources.end(), source) == step.sources.end())
          step.sources.push_back(source);
    plan.steps.push_back(std::move(step));
  }
  for (int slot = 0; slot < plan.num_slots; ++slot)
    plan.steps[last_step[slot]].last_uses.push_back(slot);
  return plan;
}

}  // namespace torchdali
