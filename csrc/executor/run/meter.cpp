// SPDX-License-Identifier: Apache-2.0
#include "executor/run/meter.h"

#include <algorithm>

#include "core/reason_counts.h"

namespace torchdali {
namespace {

// Shortens "train.py:42, in make_pipeline:\n..." to "train.py:42".
std::string file_and_line(const std::string& location) {
  const std::string line = location.substr(0, location.find('\n'));
  return line.substr(0, line.rfind(", in "));
}

OperatorMeasure::Part part_of(const Node& node) {
  return {node.schema->name, node.name, file_and_line(node.location)};
}

// Adds the producers, among them the steps of expressions in a chain, and the node itself.
void add_parts(const Node& node, std::vector<OperatorMeasure::Part>& parts) {
  for (const auto& producer : node.producers) parts.push_back(part_of(*producer));
  parts.push_back(part_of(node));
}

}  // namespace

Meters::Meters(const ExecutionPlan& plan, int num_threads)
    : sources(plan.graph.nodes.size()), sample_label(trace::label("sample", "sample")) {
  for (int i = 0; i < num_threads; ++i) workers.push_back(std::make_unique<WorkerMeter>(plan));
  for (const Step& step : plan.steps) {
    const Node& node = plan.graph.nodes[step.node];
    const OperatorMeasure::Part part = part_of(node);
    std::string name = part.op;
    if (!node.producers.empty()) {
      std::vector<OperatorMeasure::Part> parts;
      add_parts(node, parts);
      name.clear();
      for (const auto& one : parts) name += (name.empty() ? "" : " + ") + one.op;
    }
    steps.push_back(trace::label(name, "operator", part.location));
    stages.push_back(
        trace::label(name + " (batch)", node.on_gpu ? "gpu queue" : "batch stage", part.location));
    source_labels.push_back(trace::label(name + " (next batch)", "source", part.location));
  }
}

std::vector<OperatorMeasure> Meters::read(const ExecutionPlan& plan) const {
  std::vector<OperatorMeasure> all;
  std::vector<int> stage_of(plan.steps.size(), -1);
  for (size_t s = 0; s < plan.sample_stages.size(); ++s)
    for (const int step : plan.sample_stages[s].steps) stage_of[step] = static_cast<int>(s);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Node& node = plan.graph.nodes[plan.steps[i].node];
    OperatorMeasure& m = all.emplace_back();
    m.self = part_of(node);
    if (!node.producers.empty()) add_parts(node, m.parts);
    m.hidden = node.schema->hidden;
    m.on_gpu = node.on_gpu;
    if (const auto* counting = dynamic_cast<const CountsReasons*>(plan.steps[i].op))
      m.counts = counting->counts();
    for (const auto& worker : workers) {
      const StepMeter& step = worker->steps[i];
      if (stage_of[i] >= 0)
        m.samples += worker->stages[stage_of[i]].samples.get() - step.skipped.get();
      m.timed += step.timed.get();
      m.ns += step.ns.get();
      m.bytes += step.bytes.get();
      m.max_ns = std::max(m.max_ns, step.max_ns.get());
      m.batches += step.batches.get();
      m.batch_samples += step.batch_samples.get();
      m.batch_ns += step.batch_ns.get();
      m.batch_bytes += step.batch_bytes.get();
      m.max_batch_ns = std::max(m.max_batch_ns, step.max_batch_ns.get());
    }
    const SourceMeter& source = sources[plan.steps[i].node];
    m.source_batches = source.batches.get();
    m.source_ns = source.ns.get();
    m.max_source_ns = source.max_ns.get();
  }
  return all;
}

void Meters::reset_maxima() {
  for (const auto& worker : workers) {
    for (StepMeter& step : worker->steps) {
      step.max_ns.reset();
      step.max_batch_ns.reset();
    }
  }
  for (SourceMeter& source : sources) source.max_ns.reset();
}

}  // namespace torchdali
