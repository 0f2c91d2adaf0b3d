// SPDX-License-Identifier: Apache-2.0
// What an Executor says about the memory of its outputs.
#include <algorithm>

#include "executor/run/executor.h"

namespace torchdali {

void Executor::add_memory(const IterationData& iteration) {
  for (int slot = 0; slot < plan_.num_slots; ++slot)
    memory_[slot].raise_real(iteration.memory[slot].total, iteration.memory[slot].largest);
  for (const Step& step : plan_.steps) {
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.batches[i] < 0 || iteration.batches[step.batches[i]] == nullptr) continue;
      const auto [total, largest] = iteration.batches[step.batches[i]]->reserved_bytes();
      memory_[step.outputs[i]].raise_reserved(total, largest);
    }
  }
}

std::vector<OperatorMemory> Executor::memory_statistics() const {
  std::vector<OperatorMemory> result;
  if (!options_.memory_stats) return result;
  for (const Step& step : plan_.steps) {
    const Node& node = plan_.graph.nodes[step.node];
    for (const auto& producer : node.producers) {
      if (producer->schema->source) continue;  // a step of its own
      const OpSpec spec = make_spec(*producer, 1, 1, nullptr);
      result.push_back(
          {producer->name, std::vector<OutputMemory>(static_cast<size_t>(count_outputs(spec)))});
    }
    OperatorMemory& of_node = result.emplace_back(OperatorMemory{node.name, {}});
    for (int slot : step.outputs) {
      OutputMemory& memory = of_node.outputs.emplace_back(memory_[slot]);
      for (const auto& runner : runners_) {  // 0 for values in a batch
        memory.reserved += runner->reserved(slot);
        memory.max_reserved = std::max(memory.max_reserved, runner->largest_block(slot));
      }
    }
  }
  return result;
}

void Executor::release_unused_memory() {
  for (const auto& pool : pools_) pool->release_unused();
}

}  // namespace torchdali
