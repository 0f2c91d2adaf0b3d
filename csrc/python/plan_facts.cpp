// SPDX-License-Identifier: Apache-2.0
#include "python/plan_facts.h"

namespace torchdali {
namespace {

const char* role_name(ImageRole role) {
  switch (role) {
    case ImageRole::kNone: return "";
    case ImageRole::kDecoder: return "decoder";
    case ImageRole::kResampler: return "resampler";
    case ImageRole::kWindow: return "window";
    case ImageRole::kFlip: return "flip";
    case ImageRole::kPixelwise: return "pixelwise";
    case ImageRole::kNormalizer: return "normalizer";
  }
  return "";
}

// The node of the definition whose frames `node` makes; else `node`.
const Node& source_of(const Node& node) {
  const bool is_part =
      node.part_of.size() == 1 && node.part_of[0]->schema->frames_part == node.schema->name;
  return is_part ? *node.part_of[0] : node;
}

nb::dict operator_facts(const Node& node, int member) {
  nb::dict d;
  d["op"] = source_of(node).schema->name;
  d["name"] = source_of(node).name;
  d["location"] = decode_path(node.location);
  d["role"] = role_name(node.schema->image_role);
  d["member"] = member;
  const auto given = [&](const char* arg) {
    return node.args.contains(arg) || node.argument_inputs.contains(arg);
  };
  const ImageRole role = node.schema->image_role;
  d["narrows"] = role == ImageRole::kWindow || role == ImageRole::kFlip ||
                 (role == ImageRole::kNormalizer && (given("crop") || given("crop_h")));
  return d;
}

// The operators whose work a step does, in the order of the definition. Operators with the same
// number are one member of a chain: an expression that was fused first.
nb::list operators_of(const Node& node) {
  nb::list all;
  const auto add = [&](const Node& one, int member) {
    for (const auto& producer : one.producers) all.append(operator_facts(*producer, member));
    all.append(operator_facts(one, member));
  };
  int number = 0;
  for (const ChainMember& member : node.members) add(*member.node, number++);
  if (node.members.empty()) add(node, 0);
  return all;
}

// The memory of output `index` of a step.
std::string memory_of(const ExecutionPlan& plan, const Step& step, size_t index) {
  const Schema& schema = *plan.graph.nodes[static_cast<size_t>(step.node)].schema;
  if (schema.hands_on_fed_batch()) return "memory of the source";
  const int batch = step.batches[index];
  if (batch < 0) return "scratch";
  const auto at = static_cast<size_t>(batch);
  const char* memory = plan.memory_kinds[at] == MemoryKind::kDevice   ? ", GPU"
                       : plan.memory_kinds[at] == MemoryKind::kPinned ? ", pinned"
                                                                      : "";
  return std::string(plan.is_output[at] ? "output" : "batch") + memory;
}

}  // namespace

nb::list plan_facts(const ExecutionPlan& plan) {
  nb::list steps;
  const auto add = [&](int index, size_t stage, const char* runs) {
    const Step& step = plan.steps[static_cast<size_t>(index)];
    nb::dict d;
    d["operators"] = operators_of(plan.graph.nodes[static_cast<size_t>(step.node)]);
    d["stage"] = stage;
    d["runs"] = runs;
    nb::list outputs;
    for (size_t i = 0; i < step.outputs.size(); ++i) outputs.append(memory_of(plan, step, i));
    d["outputs"] = outputs;
    d["guarded"] = !step.guards.empty();
    steps.append(d);
  };
  size_t stage = 0;
  for (size_t i = 0; i < plan.sample_stages.size(); ++i) {
    if (i > 0) {
      const BatchStage& batch = plan.batch_stages[i - 1];
      for (const int step : batch.steps) {
        const auto traits = plan.steps[static_cast<size_t>(step)].op->batch_traits();
        add(step, stage,
            traits && traits->on_device ? "GPU"
            : batch.ordered             ? "batches in order"
                                        : "batches");
      }
      ++stage;
    }
    if (plan.sample_stages[i].steps.empty()) continue;
    for (const int step : plan.sample_stages[i].steps) {
      // Steps with a batch stage were added above.
      const auto traits = plan.steps[static_cast<size_t>(step)].op->batch_traits();
      if (!traits) add(step, stage, "samples");
    }
    ++stage;
  }
  return steps;
}

}  // namespace torchdali
