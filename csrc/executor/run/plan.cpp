// SPDX-License-Identifier: Apache-2.0
#include "executor/run/plan.h"

#include <algorithm>
#include <map>

#include "executor/chain/chain.h"
#include "executor/chain/frame_loop.h"
#include "executor/chain/gpu_chain.h"
#include "gpu/operator.h"

namespace torchdali {

namespace {

// Values that are a pipeline output for the samples that have them, by way of `conditional.merge`:
// the branches write them right into the batch, where they are made sample by sample.
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
      const Node& maker = graph.nodes[value.node];
      const bool at_once = maker.on_gpu || maker.schema->name == "copy.to_cpu";
      if (own && !at_once) batches.emplace(value, batch);
    }
  }
}

// Which segment a step belongs to: as late as those who use it allow, so that little has to be kept
// from one segment to the next. An operator with a batch-wide stage runs in the segment behind it.
struct Levels {
  std::vector<int> of_step;
  int count = 1;  // of segments
};

bool is_batch_wide(const Step& step) { return step.op->batch_traits().has_value(); }

std::vector<int> parents(const Node& node) {
  std::vector<int> all;
  all.reserve(node.inputs.size() + node.argument_inputs.size() + node.guards.size());
  for (Edge e : node.inputs) all.push_back(e.node);
  for (const auto& [name, e] : node.argument_inputs) all.push_back(e.node);
  for (const Guard& g : node.guards) all.push_back(g.predicate.node);
  return all;
}

Levels find_levels(const Plan& plan) {
  const size_t count = plan.steps.size();
  std::vector<int> earliest(count, 0);
  Levels levels;
  for (size_t n = 0; n < count; ++n) {
    for (int parent : parents(plan.graph.nodes[n]))
      earliest[n] = std::max(earliest[n], earliest[static_cast<size_t>(parent)]);
    if (is_batch_wide(plan.steps[n])) ++earliest[n];
    levels.count = std::max(levels.count, earliest[n] + 1);
  }
  levels.of_step.assign(count, levels.count - 1);
  for (size_t n = count; n-- > 0;) {
    int& level = levels.of_step[n];
    // Python functions and the like come as early as they can: others wait for them.
    if (is_batch_wide(plan.steps[n])) level = earliest[n];
    const int needed = is_batch_wide(plan.steps[n]) ? level - 1 : level;
    for (int parent : parents(plan.graph.nodes[n])) {
      int& of_parent = levels.of_step[static_cast<size_t>(parent)];
      of_parent = std::min(of_parent, needed);
    }
  }
  return levels;
}

// Distributes the steps over segments and stages, and finds what has to be kept between them.
void add_segments(Plan& plan) {
  const Levels levels = find_levels(plan);
  plan.segments.resize(static_cast<size_t>(levels.count));
  plan.batch_stages.resize(static_cast<size_t>(levels.count) - 1);
  plan.kept.assign(static_cast<size_t>(plan.num_slots), -1);
  std::vector<int> made_in(static_cast<size_t>(plan.num_slots));  // segment; by a stage: the next
  std::vector<bool> by_stage(static_cast<size_t>(plan.num_slots));
  std::vector<int> last_step(static_cast<size_t>(plan.num_slots));

  const auto keep = [&](int slot) {
    int& kept = plan.kept[static_cast<size_t>(slot)];
    if (kept >= 0) return;
    kept = static_cast<int>(plan.kept_in.size());
    plan.kept_in.emplace_back();
  };
  for (size_t n = 0; n < plan.steps.size(); ++n) {
    Step& step = plan.steps[n];
    const int level = levels.of_step[n];
    Segment& segment = plan.segments[static_cast<size_t>(level)];
    const auto traits = step.op->batch_traits();
    const bool runs = !traits || !traits->makes_outputs;
    std::vector<int> used = step.inputs;
    used.insert(used.end(), step.arguments.begin(), step.arguments.end());
    for (const Step::Guard& g : step.guards) used.push_back(g.slot);
    if (traits) {
      BatchStage& stage = plan.batch_stages[static_cast<size_t>(level) - 1];
      stage.steps.push_back(static_cast<int>(n));
      stage.ordered = stage.ordered || traits->ordered;
      for (int slot : used) keep(slot);
    }
    if (runs) {
      segment.steps.push_back(static_cast<int>(n));
      for (int slot : used) {
        last_step[static_cast<size_t>(slot)] = static_cast<int>(n);
        if (made_in[static_cast<size_t>(slot)] == level && !by_stage[static_cast<size_t>(slot)])
          continue;
        keep(slot);
        if (std::find(segment.loads.begin(), segment.loads.end(), slot) == segment.loads.end())
          segment.loads.push_back(slot);
      }
    }
    for (int slot : step.outputs) {
      made_in[static_cast<size_t>(slot)] = level;
      by_stage[static_cast<size_t>(slot)] = !runs;
      last_step[static_cast<size_t>(slot)] = static_cast<int>(n);
      if (!runs) keep(slot);
    }
  }
  for (size_t slot = 0; slot < last_step.size(); ++slot)
    if (!by_stage[slot])
      plan.steps[static_cast<size_t>(last_step[slot])].last_uses.push_back(static_cast<int>(slot));
  // What is kept must outlive the worker's memory. What was fed does.
  for (Step& step : plan.steps) {
    const bool fed = plan.graph.nodes[static_cast<size_t>(step.node)].schema->fed;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const int kept = plan.kept[static_cast<size_t>(step.outputs[i])];
      if (kept < 0) continue;
      if (!fed && step.batches[i] < 0) step.batches[i] = plan.num_batches++;
      plan.kept_in[static_cast<size_t>(kept)] = {.batch = step.batches[i],
                                                 .fed_node = fed ? step.node : -1};
    }
  }
}

// Where each batch lies. What is copied to the GPU is made in pinned memory, unless the user gets
// it too and may change it while it is copied.
void add_places(Plan& plan) {
  plan.places.assign(static_cast<size_t>(plan.num_batches), Place::kHost);
  plan.is_output.assign(static_cast<size_t>(plan.num_batches), false);
  for (const Plan::Output& output : plan.outputs)
    if (output.batch >= 0) plan.is_output[static_cast<size_t>(output.batch)] = true;
  for (const Step& step : plan.steps) {
    const auto traits = step.op->batch_traits();
    if (!traits || !traits->on_device) continue;
    for (const int batch : step.batches)
      if (batch >= 0)
        plan.places[static_cast<size_t>(batch)] = traits->to_host ? Place::kPinned : Place::kDevice;
    if (plan.graph.nodes[static_cast<size_t>(step.node)].schema->name != "copy.to_gpu") continue;
    const int kept = plan.kept[static_cast<size_t>(step.inputs[0])];
    const int batch = plan.kept_in[static_cast<size_t>(kept)].batch;
    if (batch >= 0 && !plan.is_output[static_cast<size_t>(batch)])
      plan.places[static_cast<size_t>(batch)] = Place::kPinned;
  }
  for (size_t stage = 0; stage < plan.batch_stages.size(); ++stage)
    for (const int step : plan.batch_stages[stage].steps)
      if (const auto traits = plan.steps[static_cast<size_t>(step)].op->batch_traits();
          traits && traits->on_device) {
        plan.last_device_stage = static_cast<int>(stage);
        if (plan.first_device_stage < 0) plan.first_device_stage = plan.last_device_stage;
      }
  for (int batch = 0; batch < plan.num_batches; ++batch)
    if (plan.places[static_cast<size_t>(batch)] == Place::kDevice &&
        !plan.is_output[static_cast<size_t>(batch)])
      plan.intermediates.push_back(batch);
}

// The operator of a node, as the executor runs it.
std::unique_ptr<Operator> make_operator(const Node& node, const OpSpec& spec) {
  if (!node.members.empty())
    return node.on_gpu ? make_gpu_chain(node, spec) : make_chain(node, spec);
  if (!node.on_gpu) return over_frames(node.schema->make_cpu(spec), spec);
  auto made = node.schema->make_gpu(spec);
  const auto* gpu = dynamic_cast<const gpu::GpuOperator*>(made.get());
  if (gpu == nullptr) return made;
  return gpu::make_stage(over_frames(std::move(made), spec), *gpu);
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
  for (int n = 0; n < static_cast<int>(plan.graph.nodes.size()); ++n) {
    const Node& node = plan.graph.nodes[n];
    std::vector<Edge> argument_edges;
    const OpSpec spec = make_spec(node, max_batch_size, num_threads, &argument_edges);
    try {
      plan.operators.push_back(make_operator(node, spec));
    } catch (const Error& e) {
      throw OperatorError(e, node);
    }
    if (node.schema->source) plan.sources.push_back(n);

    Step step;
    step.node = n;
    step.op = plan.operators.back().get();
    step.seed = node.seed;
    for (Edge e : node.inputs) step.inputs.push_back(slots.at(e));
    for (Edge e : argument_edges) step.arguments.push_back(slots.at(e));
    for (const Guard& g : node.guards) step.guards.push_back({slots.at(g.predicate), g.value});
    for (int i = 0, count = count_outputs(spec); i < count; ++i) {
      slots.emplace(Edge{n, i}, plan.num_slots);
      step.outputs.push_back(plan.num_slots++);
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
  add_segments(plan);
  add_places(plan);
  return plan;
}

}  // namespace torchdali
