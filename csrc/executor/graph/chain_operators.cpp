// SPDX-License-Identifier: Apache-2.0
// chain_cpu_operators(), chain_gpu_operators(): operators over one image become one node, a chain.
#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "executor/graph/edges.h"
#include "executor/graph/passes.h"

namespace torchdali {
namespace {

using Path = std::vector<int>;  // nodes, each the only user of the one before

class Chaining {
 public:
  Chaining(Graph graph, bool on_gpu)
      : graph_(std::move(graph)), on_gpu_(on_gpu), uses_(count_uses(graph_)) {}

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
      Path path;
      for (int at = static_cast<int>(n); at >= 0; at = next[static_cast<size_t>(at)])
        path.push_back(at);
      split_path(path);
    }
    std::vector<int> kept;
    for (size_t n = 0; n < count; ++n)
      if (!removed_[n]) kept.push_back(static_cast<int>(n));
    return select_nodes(std::move(graph_), kept);
  }

 private:
  Node& node(int index) { return graph_.nodes[static_cast<size_t>(index)]; }
  const Node& node(int index) const { return graph_.nodes[static_cast<size_t>(index)]; }
  ImageRole role(int index) const { return node(index).schema->image_role; }

  bool has_role(const Node& node) const {
    return node.schema->image_role != ImageRole::kNone && node.on_gpu == on_gpu_ &&
           (!on_gpu_ || node.schema->chains_on_gpu) &&
           count_outputs(make_spec(node, 1, 1, nullptr)) == 1;
  }

  // The input of `consumer` that may be the value of the chain that it continues, or -1. It has to
  // be the only use of that value, which then does not have to exist as a whole.
  int find_chain_input(const Node& consumer) const {
    const ImageRole role = consumer.schema->image_role;
    if (!has_role(consumer) || role == ImageRole::kDecoder) return -1;
    const size_t candidates =
        role == ImageRole::kPixelwise ? consumer.inputs.size() : size_t{!consumer.inputs.empty()};
    for (size_t i = 0; i < candidates; ++i) {
      const Edge edge = consumer.inputs[i];
      const Node& producer = node(edge.node);
      if (has_role(producer) && producer.schema->image_role != ImageRole::kNormalizer &&
          covers(producer.guards, consumer.guards) && uses_[static_cast<size_t>(edge.node)] == 1)
        return static_cast<int>(i);
    }
    return -1;
  }

  // Divides a path into chains.
  void split_path(const Path& path) {
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::max(begin + 1, find_chain(path, begin));
      const auto chain = std::span(path).subspan(begin, end - begin);
      begin = end;
      if (!on_gpu_) node(chain[0]).resampled = has(chain, ImageRole::kResampler);
      if (!is_worthwhile(chain)) continue;
      join(chain);
      for (const int member : chain.first(chain.size() - 1))
        removed_[static_cast<size_t>(member)] = true;
    }
  }

  // The first nodes of a path from `begin` on that run as one: [decoder] windows* [resampler]
  // (windows, flips, pixelwise)* [normalizer]. Returns one past the last.
  size_t find_chain(const Path& path, size_t begin) const {
    const auto is = [&](size_t at, auto... roles) {
      return at < path.size() && ((role(path[at]) == roles) || ...);
    };
    size_t end = begin;
    end += is(end, ImageRole::kDecoder);
    while (is(end, ImageRole::kWindow)) ++end;
    end += is(end, ImageRole::kResampler);
    while (is(end, ImageRole::kWindow, ImageRole::kFlip, ImageRole::kPixelwise)) ++end;
    end += is(end, ImageRole::kNormalizer);
    // A decoder gains nothing from operators that need all of its pixels.
    if (is(begin, ImageRole::kDecoder)) {
      size_t at = begin + 1;
      while (at < end && is(at, ImageRole::kFlip, ImageRole::kPixelwise)) ++at;
      if (at == end) return begin + 1;
    }
    return end;
  }

  bool has(std::span<const int> chain, auto... roles) const {
    return std::any_of(chain.begin(), chain.end(),
                       [&](int n) { return ((role(n) == roles) || ...); });
  }

  // Whether running the operators as one saves anything. On the GPU it saves kernel launches.
  bool is_worthwhile(std::span<const int> chain) const {
    return chain.size() > 1 && (on_gpu_ || has(chain, ImageRole::kDecoder, ImageRole::kResampler,
                                               ImageRole::kPixelwise, ImageRole::kNormalizer));
  }

  // Argument inputs are ordered by name: those of earlier members come first.
  static std::string argument_name(size_t member, const std::string& name) {
    std::array<char, 8> number{};
    std::snprintf(number.data(), number.size(), "%06u.", static_cast<unsigned>(member));
    return number.data() + name;
  }

  // The last node of `chain` becomes the chain; the others are left without uses.
  void join(std::span<const int> chain) {
    Node joined = node(chain.back());
    joined.inputs.clear();
    joined.argument_inputs.clear();
    joined.producers.clear();
    joined.part_of.clear();
    for (size_t k = 0; k < chain.size(); ++k) {
      const Node& own = node(chain[k]);
      ChainMember member{.node = std::make_shared<const Node>(own), .inputs = {}};
      for (size_t i = 0; i < own.inputs.size(); ++i) {
        const bool is_value =
            k == 0 ? i == 0 : static_cast<int>(i) == chain_input_[static_cast<size_t>(chain[k])];
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
    node(chain.back()) = std::move(joined);
  }

  Graph graph_;
  const bool on_gpu_;
  const std::vector<int> uses_;   // per node
  std::vector<int> chain_input_;  // per node: the result of find_chain_input()
  std::vector<bool> removed_;
};

}  // namespace

Graph chain_cpu_operators(Graph graph) { return Chaining(std::move(graph), false).run(); }
Graph chain_gpu_operators(Graph graph) { return Chaining(std::move(graph), true).run(); }

}  // namespace torchdali
