// SPDX-License-Identifier: Apache-2.0
#include "executor/run/execution_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "executor/chain/audio_chain.h"
#include "executor/chain/chain.h"
#include "executor/chain/frame_loop.h"
#include "executor/chain/gpu_audio_chain.h"
#include "executor/chain/gpu_chain.h"
#include "executor/graph/crash_task.h"
#include "executor/graph/edges.h"
#include "executor/graph/operator_error.h"
#include "gpu/operator.h"

namespace torchdali {
namespace {

bool is_batch_wide(const Step& step) { return step.op->batch_traits().has_value(); }

// The operator of a node, as the executor runs it.
std::unique_ptr<Operator> make_operator(const Node& node, const OpSpec& spec) {
  if (!node.members.empty()) {
    if (node.members[0].node->schema->audio_role != AudioRole::kNone)
      return node.on_gpu ? make_gpu_audio_chain(node, spec) : make_audio_chain(node, spec);
    return node.on_gpu ? make_gpu_chain(node, spec) : make_chain(node, spec);
  }
  if (!node.on_gpu || node.schema->external) return over_frames(node.schema->make_cpu(spec), spec);
  auto made = node.schema->make_gpu(spec);
  const auto* gpu = dynamic_cast<const gpu::GpuOperator*>(made.get());
  if (gpu == nullptr) return made;
  return gpu::make_stage(over_frames(std::move(made), spec), *gpu);
}

// Lets the branches of a condition write to the batch that their merged value is in, so that
// merging copies nothing. `batches`: the batches of values that are outputs of the pipeline.
void add_branches(const Graph& graph, std::map<Edge, int>& batches) {
  for (int n = static_cast<int>(graph.nodes.size()) - 1; n >= 0; --n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    const auto merged = batches.find(Edge{n, 0});
    if (node.schema->graph_role != GraphRole::kMerge || merged == batches.end()) continue;
    const int batch = merged->second;
    for (const bool taken : {true, false}) {
      const Edge value = node.inputs[taken ? 0 : 1];
      const Node& producer = graph.nodes[static_cast<size_t>(value.node)];
      const bool in_branch = std::any_of(
          producer.guards.begin(), producer.guards.end(),
          [&](const Guard& g) { return g.predicate == node.inputs[2] && g.value == taken; });
      // A batch stage fills its batch as a whole.
      const bool by_batch =
          producer.on_gpu || producer.schema->graph_role == GraphRole::kCopyToHost;
      if (in_branch && !by_batch) batches.emplace(value, batch);
    }
  }
}

// The sample stage of each step. A step runs as late as its users allow, so that few values have to
// be kept for a later stage. A batch-wide step runs as early as its inputs allow, since other
// stages wait for it; the sample stage of it is the one after its batch stage.
struct StageNumbers {
  std::vector<int> of_step;
  int count = 1;
};

StageNumbers number_stages(const ExecutionPlan& plan) {
  const size_t count = plan.steps.size();
  std::vector<int> earliest(count, 0);
  StageNumbers stages;
  for (size_t n = 0; n < count; ++n) {
    for_each_edge(plan.graph.nodes[n], [&](const Edge& e) {
      earliest[n] = std::max(earliest[n], earliest[static_cast<size_t>(e.node)]);
    });
    if (is_batch_wide(plan.steps[n])) ++earliest[n];
    stages.count = std::max(stages.count, earliest[n] + 1);
  }
  stages.of_step.assign(count, stages.count - 1);
  for (size_t n = count; n-- > 0;) {
    int& stage = stages.of_step[n];
    if (is_batch_wide(plan.steps[n])) stage = earliest[n];
    const int latest = is_batch_wide(plan.steps[n]) ? stage - 1 : stage;
    for_each_edge(plan.graph.nodes[n], [&](const Edge& e) {
      int& of_parent = stages.of_step[static_cast<size_t>(e.node)];
      of_parent = std::min(of_parent, latest);
    });
  }
  return stages;
}

// Distributes the steps over stages, and finds the values that have to be kept between stages.
void add_stages(ExecutionPlan& plan) {
  const StageNumbers stages = number_stages(plan);
  plan.sample_stages.resize(static_cast<size_t>(stages.count));
  plan.batch_stages.resize(static_cast<size_t>(stages.count) - 1);
  const auto num_slots = static_cast<size_t>(plan.num_slots);
  plan.kept.assign(num_slots, -1);
  std::vector<int> made_in(num_slots);  // sample stage; the one after the batch stage that makes it
  std::vector<bool> made_by_batch(num_slots);
  std::vector<int> last_step(num_slots);

  const auto keep = [&](int slot) {
    int& kept = plan.kept[static_cast<size_t>(slot)];
    if (kept >= 0) return;
    kept = static_cast<int>(plan.kept_in.size());
    plan.kept_in.emplace_back();
  };
  for (size_t n = 0; n < plan.steps.size(); ++n) {
    Step& step = plan.steps[n];
    const int stage = stages.of_step[n];
    SampleStage& sample_stage = plan.sample_stages[static_cast<size_t>(stage)];
    const auto traits = step.op->batch_traits();
    const bool runs = !traits || !traits->makes_outputs;
    std::vector<int> used = step.inputs;
    used.insert(used.end(), step.arguments.begin(), step.arguments.end());
    for (const Step::Guard& g : step.guards) used.push_back(g.slot);
    if (traits) {
      BatchStage& batch_stage = plan.batch_stages[static_cast<size_t>(stage) - 1];
      batch_stage.steps.push_back(static_cast<int>(n));
      batch_stage.ordered = batch_stage.ordered || traits->ordered;
      for (int slot : used) keep(slot);
    }
    if (runs) {
      if (sample_stage.takes_two < 0 && step.op->takes_two())
        sample_stage.takes_two = static_cast<int>(sample_stage.steps.size());
      sample_stage.steps.push_back(static_cast<int>(n));
      for (int slot : used) {
        const auto s = static_cast<size_t>(slot);
        last_step[s] = static_cast<int>(n);
        if (made_in[s] == stage && !made_by_batch[s]) continue;
        keep(slot);
        auto& loads = sample_stage.loads;
        if (std::find(loads.begin(), loads.end(), slot) == loads.end()) loads.push_back(slot);
      }
    }
    for (int slot : step.outputs) {
      const auto s = static_cast<size_t>(slot);
      made_in[s] = stage;
      made_by_batch[s] = !runs;
      last_step[s] = static_cast<int>(n);
      if (!runs) keep(slot);
    }
  }
  for (size_t slot = 0; slot < num_slots; ++slot)
    if (!made_by_batch[slot])
      plan.steps[static_cast<size_t>(last_step[slot])].last_uses.push_back(static_cast<int>(slot));
  // Kept values need memory that outlives the worker's. The user's memory does.
  for (Step& step : plan.steps) {
    const bool external =
        plan.graph.nodes[static_cast<size_t>(step.node)].schema->hands_on_fed_batch();
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const int kept = plan.kept[static_cast<size_t>(step.outputs[i])];
      if (kept < 0) continue;
      if (!external && step.batches[i] < 0) step.batches[i] = plan.num_batches++;
      plan.kept_in[static_cast<size_t>(kept)] = {.batch = step.batches[i],
                                                 .external_node = external ? step.node : -1};
    }
  }
}

// Chooses the memory of each batch. A batch that is copied to the GPU is in pinned memory, unless
// the user gets it too and may change it during the copy.
void add_memory_kinds(ExecutionPlan& plan) {
  const auto num_batches = static_cast<size_t>(plan.num_batches);
  plan.memory_kinds.assign(num_batches, MemoryKind::kHost);
  plan.is_output.assign(num_batches, false);
  for (const ValueBatch& output : plan.outputs)
    if (output.batch >= 0) plan.is_output[static_cast<size_t>(output.batch)] = true;
  for (const Step& step : plan.steps) {
    const auto traits = step.op->batch_traits();
    if (!traits || !traits->on_device) continue;
    for (const int batch : step.batches)
      if (batch >= 0)
        plan.memory_kinds[static_cast<size_t>(batch)] =
            traits->to_host ? MemoryKind::kPinned : MemoryKind::kDevice;
    const Schema& schema = *plan.graph.nodes[static_cast<size_t>(step.node)].schema;
    if (schema.graph_role != GraphRole::kCopyToDevice) continue;
    const int kept = plan.kept[static_cast<size_t>(step.inputs[0])];
    const int batch = plan.kept_in[static_cast<size_t>(kept)].batch;
    if (batch >= 0 && !plan.is_output[static_cast<size_t>(batch)])
      plan.memory_kinds[static_cast<size_t>(batch)] = MemoryKind::kPinned;
  }
  for (size_t batch = 0; batch < num_batches; ++batch)
    if (plan.memory_kinds[batch] == MemoryKind::kDevice && !plan.is_output[batch])
      plan.intermediates.push_back(static_cast<int>(batch));
}

void find_device_stages(ExecutionPlan& plan) {
  for (size_t stage = 0; stage < plan.batch_stages.size(); ++stage)
    for (const int step : plan.batch_stages[stage].steps)
      if (const auto traits = plan.steps[static_cast<size_t>(step)].op->batch_traits();
          traits && traits->on_device) {
        plan.last_device_stage = static_cast<int>(stage);
        if (plan.first_device_stage < 0) plan.first_device_stage = plan.last_device_stage;
      }
}

// The step of node `n`. `slots` has the values of the nodes before it and receives its outputs.
Step make_step(ExecutionPlan& plan, int n, const OpSpec& spec,
               const std::vector<Edge>& argument_edges, const std::map<Edge, int>& batches,
               std::map<Edge, int>& slots) {
  const Node& node = plan.graph.nodes[static_cast<size_t>(n)];
  Step step;
  step.node = n;
  step.op = plan.operators[static_cast<size_t>(n)].get();
  step.seed = node.seed;
  step.task = crash_task(node);
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
    for (int source : plan.steps[static_cast<size_t>(e.node)].output_sources)
      if (std::find(step.sources.begin(), step.sources.end(), source) == step.sources.end())
        step.sources.push_back(source);
  step.output_sources = step.sources;
  // It may make samples from others, and then has their names (BatchContext::set_names()).
  if (is_batch_wide(step) && !step.sources.empty())
    step.output_sources.insert(step.output_sources.begin(), n);
  return step;
}

}  // namespace

ExecutionPlan make_execution_plan(Graph graph, int max_batch_size, int num_threads) {
  crash::install();
  ExecutionPlan plan;
  plan.graph = std::move(graph);
  std::map<Edge, int> slots, batches;
  for (Edge e : plan.graph.outputs) {
    if (plan.graph.nodes[static_cast<size_t>(e.node)].schema->hands_on_fed_batch()) {
      plan.outputs.push_back({.external_node = e.node});
      continue;
    }
    const auto [it, added] = batches.emplace(e, plan.num_batches);
    plan.num_batches += added;
    plan.outputs.push_back({.batch = it->second});
  }
  add_branches(plan.graph, batches);
  for (int n = 0; n < static_cast<int>(plan.graph.nodes.size()); ++n) {
    const Node& node = plan.graph.nodes[static_cast<size_t>(n)];
    std::vector<Edge> argument_edges;
    const OpSpec spec = make_spec(node, max_batch_size, num_threads, &argument_edges);
    plan.operators.push_back(with_operator_errors(node, [&] {
      const crash::Task task = crash_task(node);
      const crash::Scope scope(task);
      return make_operator(node, spec);
    }));
    if (node.schema->source) plan.sources.push_back(n);
    plan.steps.push_back(make_step(plan, n, spec, argument_edges, batches, slots));
  }
  add_stages(plan);
  add_memory_kinds(plan);
  find_device_stages(plan);
  return plan;
}

}  // namespace torchdali
