// SPDX-License-Identifier: Apache-2.0
// The operators of a chain, made ready to run, and whose errors are whose.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/image_part.h"
#include "executor/graph/graph.h"

namespace torchdali {

// An operator of a chain, ready to run.
struct PreparedMember {
  std::unique_ptr<Operator> op;        // as the executor runs it by itself
  const Operator* on_image = nullptr;  // the same, for samples that are no sequences
  ImageRole role = ImageRole::kNone;
  std::vector<int> inputs;  // as ChainMember::inputs
  int num_arguments = 0;
  int first_argument = 0;   // of the chain's
  std::vector<int> slots;   // of its inputs, arguments and output
  int value = 0, made = 0;  // the slots of the chain's value and of the output
  uint64_t seed = 0;
  // Numbers of errors (Error::set_producer): of its own producers from the first on, of itself.
  int first_producer = 0, producer = -1;

  template <class Interface>
  const Interface* as() const {
    return dynamic_cast<const Interface*>(on_image);
  }
};

struct PreparedMembers {
  // Members whose values lie in slots of one list.
  std::vector<PreparedMember> members;
  int num_values = 0;
};
// Of `node`, which has members; `spec` is made from it. Errors name the member that failed.
PreparedMembers prepare_members(const Node& node, const OpSpec& spec);

// The producers of a member, as those of the chain number them.
inline const std::vector<std::shared_ptr<const Node>>& producers_of(const Node& member) {
  return member.part_of.empty() ? member.producers : member.part_of;
}

// An error of member `m` as one of the chain.
inline void blame(const PreparedMember& m, Error& e) {
  e.set_producer(e.producer() >= 0 ? m.first_producer + e.producer() : m.producer);
}

// Makes of `own`, a copy of `ctx`, which is the chain's, what member `m` is given: its values lie
// in `values`, which has room for all slots. The chain's value is not there yet.
inline void enter(const PreparedMember& m, const SampleContext& ctx, std::span<SampleView> values,
                  SampleMemory& memory, SampleContext& own) {
  const size_t inputs = m.inputs.size();
  for (size_t i = 0; i < inputs; ++i)
    if (m.inputs[i] != kChainValue) values[m.slots[i]] = ctx.input(m.inputs[i]);
  for (int a = 0; a < m.num_arguments; ++a)
    values[m.slots[inputs + a]] = ctx.argument_input(m.first_argument + a);
  own.use(values.data(), m.slots, static_cast<int>(inputs), m.num_arguments, memory);
  own.set_seed(m.seed);
}

// Whether an argument has values for frames.
inline bool has_frames(const SampleContext& ctx, const PreparedMember& m) {
  for (int a = 0; a < m.num_arguments; ++a) {
    const Layout& layout = ctx.argument_input(a).layout;
    if (!layout.empty() && layout[0] == 'F') return true;
  }
  return false;
}

}  // namespace torchdali
