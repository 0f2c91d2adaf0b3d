// SPDX-License-Identifier: Apache-2.0
#include "executor/graph/chain_nodes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "executor/graph/edges.h"

namespace torchdali {
namespace {

class Chaining {
 public:
  Chaining(Graph graph, const ChainRules& rules)
      : graph_(std::move(graph)), rules_(rules), uses_(count_uses(graph_)) {}

  Graph run() && {
    const size_t count = graph_.nodes.size();
    std::vector<int> next(count, -1);
    for (size_t n = 0; n < count; ++n) {
      const int input = find_chain_input(graph_.nodes[n]);
      chain_input_.push_back(input);
      if (input >= 0)
        next[static_cast<size_t>(graph_.nodes[n].inputs[static_cast<size_t>(input)].node)] =
            static_cast<int>(n);
    }
    removed_.resize(count);
    for (size_t n = 0; n < count; ++n) {
      if (chain_input_[n] >= 0) continue;  // not the first of its path
      std::vector<Node*> path;
      for (int at = static_cast<int>(n); at >= 0; at = next[static_cast<size_t>(at)])
        path.push_back(&graph_.nodes[static_cast<size_t>(at)]);
      split_path(path);
    }
    std::vector<int> kept;
    for (size_t n = 0; n < count; ++n)
      if (!removed_[n]) kept.push_back(static_cast<int>(n));
    return select_nodes(std::move(graph_), kept);
  }

 private:
  size_t index(const Node* node) const { return static_cast<size_t>(node - graph_.nodes.data()); }

  // The input of `consumer` that may be the value of the chain that it continues, or -1. It has to
  // be the only use of that value, which then does not have to exist as a whole.
  int find_chain_input(const Node& consumer) const {
    if (!rules_.is_member(consumer)) return -1;
    const size_t candidates = std::min(rules_.count_value_inputs(consumer), consumer.inputs.size());
    for (size_t i = 0; i < candidates; ++i) {
      const Edge edge = consumer.inputs[i];
      const auto from = static_cast<size_t>(edge.node);
      const Node& producer = graph_.nodes[from];
      if (edge.output == 0 && rules_.is_member(producer) && rules_.can_be_followed(producer) &&
          covers(producer.guards, consumer.guards) && uses_[from] == 1)
        return static_cast<int>(i);
    }
    return -1;
  }

  // Divides a path into chains.
  void split_path(ChainRules::Path path) {
    while (!path.empty()) {
      const ChainRules::Path chain =
          path.first(rules_.is_member(*path[0]) ? rules_.measure(path) : 1);
      path = path.subspan(chain.size());
      rules_.prepare(chain);
      if (chain.size() == 1 || !rules_.is_worthwhile(chain)) continue;
      join(chain);
      for (const Node* member : chain.first(chain.size() - 1)) removed_[index(member)] = true;
    }
  }

  // Argument inputs are ordered by name: those of earlier members come first.
  static std::string argument_name(size_t member, const std::string& name) {
    std::array<char, 8> number{};
    std::snprintf(number.data(), number.size(), "%06u.", static_cast<unsigned>(member));
    return number.data() + name;
  }

  // The last node of `chain` becomes the chain; the others are left without uses.
  void join(ChainRules::Path chain) {
    Node joined = *chain.back();
    joined.inputs.clear();
    joined.argument_inputs.clear();
    joined.producers.clear();
    joined.part_of.clear();
    for (size_t k = 0; k < chain.size(); ++k) {
      const Node& own = *chain[k];
      ChainMember member{.node = std::make_shared<const Node>(own), .inputs = {}};
      for (size_t i = 0; i < own.inputs.size(); ++i) {
        const bool is_value =
            k == 0 ? i == 0 : static_cast<int>(i) == chain_input_[index(chain[k])];
        if (k == 0 || !is_value) joined.inputs.push_back(own.inputs[i]);
        member.inputs.push_back(is_value ? kChainValue
                                         : static_cast<int>(joined.inputs.size()) - 1);
      }
      for (const auto& [name, edge] : own.argument_inputs)
        joined.argument_inputs.emplace(argument_name(k, name), edge);
      const auto& producers = producers_of(own);
      joined.producers.insert(joined.producers.end(), producers.begin(), producers.end());
      if (k + 1 < chain.size() && own.part_of.empty()) joined.producers.push_back(member.node);
      joined.members.push_back(std::move(member));
    }
    *chain.back() = std::move(joined);
  }

  Graph graph_;
  const ChainRules& rules_;
  const std::vector<int> uses_;   // per node
  std::vector<int> chain_input_;  // per node: the result of find_chain_input()
  std::vector<bool> removed_;
};

}  // namespace

Graph chain_nodes(Graph graph, const ChainRules& rules) {
  return Chaining(std::move(graph), rules).run();
}

}  // namespace torchdali
