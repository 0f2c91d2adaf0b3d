// SPDX-License-Identifier: Apache-2.0
#include "executor/chain/chain_member.h"

#include <utility>

#include "core/image/frame_source.h"
#include "executor/chain/frame_loop.h"
#include "executor/graph/crash_task.h"

namespace torchdali {

PreparedMembers prepare_members(const Node& node, const OpSpec& spec) {
  PreparedMembers all;
  int num_arguments = 0, num_producers = 0;
  for (const ChainMember& from : node.members) {
    const Node& own = *from.node;
    OpSpec own_spec = make_spec(own, spec.max_batch_size, spec.num_threads, nullptr);
    PreparedMember& m = all.members.emplace_back();
    m.first_producer = num_producers;
    num_producers += static_cast<int>(producers_of(own).size());
    const bool last = all.members.size() == node.members.size();
    // A part of an operator's work is attributed to that operator.
    if (!own.part_of.empty()) m.producer = m.first_producer;
    else if (!last) m.producer = num_producers++;
    m.task = crash_task(own);
    try {
      const crash::PartScope scope(m.task);
      m.op = own.on_gpu ? own.schema->make_gpu(own_spec) : own.schema->make_cpu(own_spec);
    } catch (Error& e) {
      attribute_error(m, e);
      throw;
    }
    m.on_image = m.op.get();
    if (all.members.front().as<MakesSequence>() != nullptr)
      if (auto* takes = dynamic_cast<TakesImagePart*>(m.op.get()))
        m.takes_frames = takes->take_frames();
    m.op = over_frames(std::move(m.op), own_spec);
    m.role = own.schema->image_role;
    m.inputs = from.inputs;
    m.num_arguments = static_cast<int>(own.argument_inputs.size());
    m.first_argument = num_arguments;
    num_arguments += m.num_arguments;
    m.seed = own.seed;
    for (const int input : m.inputs) {
      if (input == kChainValue) m.value = all.num_values;
      m.slots.push_back(all.num_values++);
    }
    for (int a = 0; a < m.num_arguments; ++a) m.slots.push_back(all.num_values++);
    m.slots.push_back(m.made = all.num_values++);
    for (int output = count_outputs(own_spec); output > 1; --output)
      m.slots.push_back(all.num_values++);
  }
  return all;
}

}  // namespace torchdali
