// SPDX-License-Identifier: Apache-2.0
// Graph: the nodes of a pipeline as Python hands them over, pruned and in topological order.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/schema.h"

namespace torchdali {

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

// Whether a sample that takes `inner` takes `outer`: what has these may move under those.
inline bool covers(const std::vector<Guard>& outer, const std::vector<Guard>& inner) {
  return outer.size() <= inner.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

struct Node;
// One operator of a chain.
struct ChainMember {
  std::shared_ptr<const Node> node;  // as it was before; its edges mean nothing any more
  // Where each of its inputs comes from: an input of the chain, or (kChainValue) the member before
  // it; of the first member, the chain's first input.
  std::vector<int> inputs;
};
inline constexpr int kChainValue = -1;

struct Node {
  const Schema* schema = nullptr;
  std::string name;
  std::vector<Edge> inputs;
  std::map<std::string, Edge, std::less<>> argument_inputs;
  std::map<std::string, ArgValue, std::less<>> args;
  // Outermost first. A sample for which one does not hold skips the node.
  std::vector<Guard> guards = {};
  uint64_t seed = 0;
  bool on_gpu = false;
  std::string location;  // of the user's code that made it, several lines, for errors

  // Set by a rewrite: this node also does the work of `producers`, in this order.
  std::vector<std::shared_ptr<const Node>> producers = {};
  // Set by mixed_decoders.h: this node does a part of the work of these, which Error::producer()
  // numbers instead.
  std::vector<std::shared_ptr<const Node>> part_of = {};
  // Of a chain (executor/chain/chain.h): the operators that it runs one after the other, of which
  // this node was the last. Its inputs and argument inputs are those of all of them.
  std::vector<ChainMember> members = {};
  bool resampled = true;  // OpSpec::resampled
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<Edge> outputs;
};

// One use of an operator; `argument_edges` receives the order of its argument inputs.
OpSpec make_spec(const Node& node, int max_batch_size, int num_threads,
                 std::vector<Edge>* argument_edges);
int count_outputs(const OpSpec& spec);
// Checks what can be known before the first batch; errors name the node.
void verify(const Graph& graph);

// Thrown by all of the engine that works for one node: carries the error and where it belongs.
class OperatorError : public Error {
 public:
  OperatorError(const Error& cause, const Node& node) : Error(cause) {
    const int producer = cause.producer();
    const auto& named = node.part_of.empty() ? node.producers : node.part_of;
    const Node& culprit =
        producer >= 0 && producer < static_cast<int>(named.size()) ? *named[producer] : node;
    op = culprit.schema->name;
    hidden = culprit.schema->hidden;
    location = culprit.location;
    sample = cause.sample();
  }
  std::string op, location;
  bool hidden = false;  // no operator that the user knows by name
  std::string source;   // path or key of the sample, may be empty
  int sample = -1;      // in the batch; -1: not about one sample
  int batch_size = 0;
};

}  // namespace torchdali
