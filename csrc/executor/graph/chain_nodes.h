// SPDX-License-Identifier: Apache-2.0
// chain_nodes(): nodes, each the only user of the one before, become one node, a chain.
#pragma once

#include <span>

#include "executor/graph/graph.h"

namespace torchdali {

// Which nodes form a chain. docs/design/fusion.md.
class ChainRules {
 public:
  using Path = std::span<Node* const>;
  ChainRules() = default;
  ChainRules(const ChainRules&) = delete;
  ChainRules& operator=(const ChainRules&) = delete;
  virtual ~ChainRules() = default;
  // Whether the node can be a member. Only its output 0 may be used then.
  virtual bool is_member(const Node& node) const = 0;
  // How many inputs of a member, from the first on, may be the value of the member before it.
  virtual size_t count_value_inputs(const Node& member) const = 0;
  // Whether a member can have another one after it.
  virtual bool can_be_followed(const Node& member) const = 0;
  // How many members at the start of `path` run as one; at least 1.
  virtual size_t measure(Path path) const = 0;
  // Whether running the nodes as one saves anything.
  virtual bool is_worthwhile(Path chain) const = 0;
  // Tells the nodes of a chain, of one node also, what they will be a chain with.
  virtual void prepare(Path /*chain*/) const {}
};

Graph chain_nodes(Graph graph, const ChainRules& rules);

}  // namespace torchdali
