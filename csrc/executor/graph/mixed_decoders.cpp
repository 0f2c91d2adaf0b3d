// SPDX-License-Identifier: Apache-2.0
#include "executor/graph/mixed_decoders.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

namespace torchdali {
namespace {

// Who decodes images for the GPU. kHost is what was measured to be best (docs/design/gpu_jpeg.md).
enum class MixedDecoder : int8_t { kHost, kHybrid, kNvJpeg };
constexpr MixedDecoder kDefault = MixedDecoder::kHost;

MixedDecoder choose() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read only
  const char* value = std::getenv("TORCHDALI_MIXED_DECODER");
  const std::string_view name = value == nullptr ? "" : value;
  if (name.empty()) return kDefault;
  if (name == "cpu") return MixedDecoder::kHost;
  if (name == "hybrid") return MixedDecoder::kHybrid;
  TORCHDALI_CHECK_KIND(kValue, name == "nvjpeg", "TORCHDALI_MIXED_DECODER: unknown decoder \"",
                       name, "\", expected \"cpu\", \"hybrid\" or \"nvjpeg\"");
  return MixedDecoder::kNvJpeg;
}

// Calls fn(edge) for all edges of the graph.
template <class Fn>
void for_each_edge(Graph& graph, Fn&& fn) {
  for (Node& n : graph.nodes) {
    std::for_each(n.inputs.begin(), n.inputs.end(), fn);
    for (auto& [name, edge] : n.argument_inputs) fn(edge);
    for (Guard& g : n.guards) fn(g.predicate);
  }
  std::for_each(graph.outputs.begin(), graph.outputs.end(), fn);
}

// Who alone uses node `index`, or -1.
int find_only_user(Graph& graph, int index) {
  int uses = 0, user = -1;
  for_each_edge(graph, [&](const Edge& e) { uses += e.node == index; });
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n)
    for (const Edge& e : graph.nodes[n].inputs)
      if (e.node == index) user = n;
  return uses == 1 ? user : -1;
}

bool is_decoder(const Node& node) {
  return find_schema("host_part." + node.schema->name) != nullptr &&
         node.schema->name.starts_with("decoders.");
}

// The GPU's random_resized_crop that alone uses what node `copy` copies from `decoder`, or -1.
int find_resizer(Graph& graph, int decoder, int copy) {
  const Node& from = graph.nodes[decoder];
  const int user = find_only_user(graph, copy);
  if (user < 0 || from.schema->name != "decoders.image" || from.args.contains("dtype") ||
      from.args.contains("scaled_margin"))
    return -1;
  const Node& to = graph.nodes[user];
  const bool fits = to.schema->name == "random_resized_crop" && to.on_gpu &&
                    to.inputs.size() == 1 && to.argument_inputs.empty() &&
                    covers(from.guards, to.guards);
  return fits ? user : -1;
}

std::vector<std::shared_ptr<const Node>> alone(const Node& node) {
  return {std::make_shared<const Node>(node)};
}

// What used to read the copy reads the GPU's part behind it, which is added.
void split(Graph& graph, int decoder, int copy, const char* by) {
  for_each_edge(graph, [&](Edge& e) { e.node += e.node >= copy; });
  Node& host = graph.nodes[decoder];
  Node device = graph.nodes[copy];  // guards, place
  device.schema = find_schema("decoders.device_part");
  device.name = host.name + ".device_part";
  device.location = host.location;
  device.inputs = {{copy, 0}, {decoder, 1}};
  device.args.clear();
  for (const auto& [name, value] : host.args)
    if (device.schema->find_arg(name) != nullptr) device.args.emplace(name, value);
  device.part_of = host.part_of = alone(host);
  host.schema = find_schema("host_part." + host.schema->name);
  for (Node* part : {&host, &device}) part->args.emplace("device_decoder", by);
  graph.nodes.insert(graph.nodes.begin() + copy + 1, std::move(device));
}

// The host decodes what `resizer` reads.
void narrow(Graph& graph, int decoder, int resizer) {
  Node& host = graph.nodes[decoder];
  Node& to = graph.nodes[resizer];
  to.part_of = alone(to);
  to.schema = find_schema("device_part.random_resized_crop");
  to.inputs.push_back({decoder, 1});
  host.schema = find_schema("host_part.random_resized_crop");
  host.seed = to.seed;
  host.args.insert(to.args.begin(), to.args.end());
  host.part_of.push_back(to.part_of[0]);
}

}  // namespace

Graph split_mixed_decoders(Graph graph, bool fuse) {
  const MixedDecoder choice = choose();
  for (int copy = 0; copy < static_cast<int>(graph.nodes.size()); ++copy) {
    if (graph.nodes[copy].schema->name != "copy.to_gpu") continue;
    const int decoder = graph.nodes[copy].inputs[0].node;
    if (!is_decoder(graph.nodes[decoder]) || find_only_user(graph, decoder) != copy) continue;
    const int resizer = fuse ? find_resizer(graph, decoder, copy) : -1;
    if (choice == MixedDecoder::kHost && resizer < 0) continue;
    split(graph, decoder, copy,
          choice == MixedDecoder::kHost     ? "cpu"
          : choice == MixedDecoder::kHybrid ? "hybrid"
                                            : "nvjpeg");
    if (resizer >= 0) narrow(graph, decoder, resizer + 1);
    ++copy;
  }
  return graph;
}

}  // namespace torchdali
