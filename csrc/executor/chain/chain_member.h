// SPDX-License-Identifier: Apache-2.0
// The operators of a chain, and how their errors are attributed.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/image/image_part.h"
#include "core/threads/crash_report.h"
#include "executor/graph/graph.h"

namespace torchdali {

// An operator of a chain, constructed.
struct PreparedMember {
  std::unique_ptr<Operator> op;        // as the executor runs it outside of chains
  const Operator* on_image = nullptr;  // the same, without the loop over frames of sequences
  ImageRole role = ImageRole::kNone;
  bool takes_frames = true;  // if the first member makes sequences: can run frame by frame
  std::vector<int> inputs;   // as ChainMember::inputs
  int num_arguments = 0;
  int first_argument = 0;   // index in the arguments of the chain
  std::vector<int> slots;   // of its inputs, arguments and outputs
  int value = 0, made = 0;  // the slots of the chain's value and of output 0
  uint64_t seed = 0;
  crash::Task task;
  // For Error::set_producer(): the index of the first of its own producers, and of itself.
  int first_producer = 0, producer = -1;

  template <class Interface>
  const Interface* as() const {
    return dynamic_cast<const Interface*>(on_image);
  }
};

// Members whose values are in slots of one list.
struct PreparedMembers {
  std::vector<PreparedMember> members;
  int num_values = 0;
};
// The members of `node`, whose spec is `spec`. Errors name the member that failed.
PreparedMembers prepare_members(const Node& node, const OpSpec& spec);

// Converts an error of member `m` to an error of the chain.
inline void attribute_error(const PreparedMember& m, Error& e) {
  e.set_producer(e.producer() >= 0 ? m.first_producer + e.producer() : m.producer);
}

// Sets up `own`, a copy of the chain's context `ctx`, for member `m`. `values` has room for all
// slots. The value of the chain is not set.
inline void enter_member(const PreparedMember& m, const SampleContext& ctx,
                         std::span<SampleView> values, SampleMemory& memory, SampleContext& own) {
  const size_t inputs = m.inputs.size();
  for (size_t i = 0; i < inputs; ++i)
    if (m.inputs[i] != kChainValue) values[m.slots[i]] = ctx.input(m.inputs[i]);
  for (int a = 0; a < m.num_arguments; ++a)
    values[m.slots[inputs + a]] = ctx.argument_input(m.first_argument + a);
  own.use(values.data(), m.slots, static_cast<int>(inputs), m.num_arguments, memory);
  own.set_seed(m.seed);
}

// Whether an argument has a value for each frame.
inline bool has_frames(const SampleContext& ctx, const PreparedMember& m) {
  for (int a = 0; a < m.num_arguments; ++a) {
    const Layout& layout = ctx.argument_input(a).layout;
    if (!layout.empty() && layout[0] == 'F') return true;
  }
  return false;
}

}  // namespace torchdali
