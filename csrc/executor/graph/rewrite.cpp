// SPDX-License-Identifier: Apache-2.0
#include "executor/graph/rewrite.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "executor/chain/chain_member.h"
#include "executor/graph/fuse_expressions.h"

namespace torchdali {
namespace {

int count_uses(const Graph& graph, int node) {
  const auto is_use = [node](Edge e) { return e.node == node; };
  auto uses = std::count_if(graph.outputs.begin(), graph.outputs.end(), is_use);
  for (const Node& n : graph.nodes) {
    uses += std::count_if(n.inputs.begin(), n.inputs.end(), is_use);
    uses += std::count_if(n.argument_inputs.begin(), n.argument_inputs.end(),
                          [&](const auto& a) { return is_use(a.second); });
    uses += std::count_if(n.guards.begin(), n.guards.end(),
                          [&](const Guard& g) { return is_use(g.predicate); });
  }
  return static_cast<int>(uses);
}

bool has_role(const Node& node, bool on_gpu) {
  return node.schema->image_role != ImageRole::kNone && node.on_gpu == on_gpu &&
         (!on_gpu || node.schema->chains_on_gpu) &&
         count_outputs(make_spec(node, 1, 1, nullptr)) == 1;
}

// The input of `consumer` that may be the value of the chain which it goes on, or -1: it is the
// only use of that value, so nobody sees it in between.
int find_chain_input(const Graph& graph, const Node& consumer, bool on_gpu) {
  const ImageRole role = consumer.schema->image_role;
  if (!has_role(consumer, on_gpu) || role == ImageRole::kDecoder) return -1;
  const size_t candidates = role == ImageRole::kPixelwise ? consumer.inputs.size() : 1;
  for (size_t i = 0; i < candidates; ++i) {
    const Edge edge = consumer.inputs[i];
    const Node& producer = graph.nodes[edge.node];
    if (has_role(producer, on_gpu) && producer.schema->image_role != ImageRole::kNormalizer &&
        covers(producer.guards, consumer.guards) && count_uses(graph, edge.node) == 1)
      return static_cast<int>(i);
  }
  return -1;
}

using Path = std::vector<int>;  // nodes, each the only user of the one before

// The first nodes of a path from `begin` on that run as one: [decoder] windows* [resampler]
// (windows, flips, pixelwise)* [normalizer]. One past the last.
size_t find_chain(const Graph& graph, const Path& path, size_t begin) {
  const auto is = [&](size_t at, auto... roles) {
    return at < path.size() && ((graph.nodes[path[at]].schema->image_role == roles) || ...);
  };
  size_t end = begin;
  end += is(end, ImageRole::kDecoder);
  while (is(end, ImageRole::kWindow)) ++end;
  end += is(end, ImageRole::kResampler);
  while (is(end, ImageRole::kWindow, ImageRole::kFlip, ImageRole::kPixelwise)) ++end;
  end += is(end, ImageRole::kNormalizer);
  // A whole image is decoded where its pixels are asked for one by one.
  if (is(begin, ImageRole::kDecoder)) {
    size_t at = begin + 1;
    while (at < end && is(at, ImageRole::kFlip, ImageRole::kPixelwise)) ++at;
    if (at == end) return begin + 1;
  }
  return end;
}

bool has(const Graph& graph, std::span<const int> chain, auto... roles) {
  return std::any_of(chain.begin(), chain.end(),
                     [&](int n) { return ((graph.nodes[n].schema->image_role == roles) || ...); });
}

// Whether running them as one saves anything.
bool is_worthwhile(const Graph& graph, std::span<const int> chain) {
  // On the GPU the launch of a kernel at least.
  return chain.size() > 1 && (graph.nodes[chain[0]].on_gpu ||
                              has(graph, chain, ImageRole::kDecoder, ImageRole::kResampler,
                                  ImageRole::kPixelwise, ImageRole::kNormalizer));
}

// Argument inputs are ordered by name: those of earlier members come first.
std::string argument_name(size_t member, const std::string& name) {
  std::array<char, 8> number{};
  std::snprintf(number.data(), number.size(), "%06u.", static_cast<unsigned>(member));
  return number.data() + name;
}

// The last node of `chain` becomes all of it; the others are left without uses.
void merge(Graph& graph, std::span<const int> chain, const std::vector<int>& chain_input) {
  const Node& last = graph.nodes[chain.back()];
  Node merged = last;
  merged.inputs.clear();
  merged.argument_inputs.clear();
  merged.producers.clear();
  merged.part_of.clear();
  for (size_t k = 0; k < chain.size(); ++k) {
    const Node& node = graph.nodes[chain[k]];
    ChainMember member{.node = std::make_shared<const Node>(node), .inputs = {}};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_value = k == 0 ? i == 0 : static_cast<int>(i) == chain_input[chain[k]];
      if (k == 0 || !is_value) merged.inputs.push_back(node.inputs[i]);
      member.inputs.push_back(is_value ? kChainValue : static_cast<int>(merged.inputs.size()) - 1);
    }
    for (const auto& [name, edge] : node.argument_inputs)
      merged.argument_inputs.emplace(argument_name(k, name), edge);
    const auto& producers = producers_of(node);
    merged.producers.insert(merged.producers.end(), producers.begin(), producers.end());
    if (k + 1 < chain.size() && node.part_of.empty()) merged.producers.push_back(member.node);
    merged.members.push_back(std::move(member));
  }
  graph.nodes[chain.back()] = std::move(merged);
}

Graph without(Graph graph, const std::vector<bool>& removed) {
  std::vector<int> position(graph.nodes.size());
  std::vector<Node> kept;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    position[i] = static_cast<int>(kept.size());
    if (!removed[i]) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);
  const auto move = [&](Edge& e) { e.node = position[e.node]; };
  for (Node& n : graph.nodes) {
    std::for_each(n.inputs.begin(), n.inputs.end(), move);
    for (auto& [name, edge] : n.argument_inputs) move(edge);
    for (Guard& g : n.guards) move(g.predicate);
  }
  std::for_each(graph.outputs.begin(), graph.outputs.end(), move);
  return graph;
}

Graph chain_images(Graph graph, bool on_gpu) {
  const size_t count = graph.nodes.size();
  std::vector<int> chain_input(count), next(count, -1);
  for (size_t n = 0; n < count; ++n) {
    chain_input[n] = find_chain_input(graph, graph.nodes[n], on_gpu);
    if (chain_input[n] >= 0) next[graph.nodes[n].inputs[chain_input[n]].node] = static_cast<int>(n);
  }
  std::vector<bool> removed(count);
  for (size_t n = 0; n < count; ++n) {
    if (chain_input[n] >= 0) continue;  // not the first of its path
    Path path;
    for (int at = static_cast<int>(n); at >= 0; at = next[at]) path.push_back(at);
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::max(begin + 1, find_chain(graph, path, begin));
      const auto chain = std::span(path).subspan(begin, end - begin);
      begin = end;
      if (!on_gpu) graph.nodes[chain[0]].resampled = has(graph, chain, ImageRole::kResampler);
      if (!is_worthwhile(graph, chain)) continue;
      merge(graph, chain, chain_input);
      for (const int member : chain.first(chain.size() - 1)) removed[member] = true;
    }
  }
  return without(std::move(graph), removed);
}

}  // namespace

Graph rewrite(Graph graph) { return chain_images(fuse_expressions(std::move(graph)), false); }
Graph rewrite_on_gpu(Graph graph) { return chain_images(std::move(graph), true); }

}  // namespace torchdali
