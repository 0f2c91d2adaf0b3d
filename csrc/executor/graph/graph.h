// SPDX-License-Identifier: Apache-2.0
// Graph: the nodes of a pipeline, in topological order. docs/design/graph.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/schema.h"

namespace torchdali {

// An output of a node.
struct Edge {
  int node = 0;
  int output = 0;
  auto operator<=>(const Edge&) const = default;
};

// A boolean scalar and the value that it must have.
struct Guard {
  Edge predicate;
  bool value = true;
  bool operator==(const Guard&) const = default;
};

// Whether every sample that passes the guards `inner` passes `outer`. A node with the guards
// `outer` may then become part of one with the guards `inner`.
inline bool covers(const std::vector<Guard>& outer, const std::vector<Guard>& inner) {
  return outer.size() <= inner.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

// What happens to a sample that fails: the iteration fails, or the user gets the batch without the
// sample, or with a copy of another one in its place.
enum class OnError : uint8_t { kRaise, kSkip, kReplace };

struct Node;
// One operator of a chain.
struct ChainMember {
  std::shared_ptr<const Node> node;  // before it joined the chain; its edges are meaningless now
  // The source of each input: an input of the chain, or kChainValue for the result of the member
  // before it. For the first member, kChainValue is input 0 of the chain.
  std::vector<int> inputs;
};
inline constexpr int kChainValue = -1;

// One use of an operator.
struct Node {
  const Schema* schema = nullptr;
  std::string name = {};
  std::vector<Edge> inputs = {};
  std::map<std::string, Edge, std::less<>> argument_inputs = {};
  std::map<std::string, ArgValue, std::less<>> args = {};
  // Outermost first. Samples that fail a guard skip the node.
  std::vector<Guard> guards = {};
  uint64_t seed = 0;
  bool on_gpu = false;          // it runs there; of an external source: its data is there
  bool named = false;           // by the user: not merged with an equal node
  bool required = false;        // runs for all samples, also if nothing uses its outputs
  std::string location = {};    // the user's code that made it, one or more lines, for errors
  int origin = -1;              // index in the definition
  bool guesses_layouts = true;  // OpSpec::guesses_layouts
  // Of samples that fail in this node; none: as the executor's options say.
  std::optional<OnError> on_error = std::nullopt;

  // The following are set by passes.
  // Nodes whose work this node also does, in this order.
  std::vector<std::shared_ptr<const Node>> producers = {};
  // Nodes whose work this node does a part of.
  std::vector<std::shared_ptr<const Node>> part_of = {};
  // The operators of a chain (executor/chain/chain.h), the last of which this node was. The inputs
  // and argument inputs of the node are those of all members.
  std::vector<ChainMember> members = {};
  bool resampled = true;       // OpSpec::resampled
  bool leaves_frames = false;  // OpSpec::leaves_frames
};

// The nodes that Error::producer() is an index of.
inline const std::vector<std::shared_ptr<const Node>>& producers_of(const Node& node) {
  return node.part_of.empty() ? node.producers : node.part_of;
}

struct Graph {
  std::vector<Node> nodes;
  std::vector<Edge> outputs;
  // For each node of the definition, the one that it was merged into, or itself; and those that
  // were left before fusion, in the order of `nodes`. Both are origins. Set by passes.
  std::vector<int> merged_into = {};
  std::vector<int> kept = {};
};

// `argument_edges`, if not null, receives the argument inputs in the order of OpSpec::tensors.
OpSpec make_spec(const Node& node, int max_batch_size, int num_threads,
                 std::vector<Edge>* argument_edges);
int count_outputs(const OpSpec& spec);
// Checks everything that is known before the first batch. Throws OperatorError.
void verify(const Graph& graph);

}  // namespace torchdali
