// SPDX-License-Identifier: Apache-2.0
// narrow_mixed_decoders(), split_mixed_decoders(), split_video_decoders(): how host and GPU share
// the work of decoding.
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/graph/edges.h"
#include "executor/graph/passes.h"
#include "gpu/nvdec/support.h"

namespace torchdali {
namespace {

// What decodes images for the GPU. kHost measured best (docs/design/gpu_jpeg.md).
enum class MixedDecoder : int8_t { kHost, kHybrid, kGpu, kNvJpeg };
constexpr MixedDecoder kDefault = MixedDecoder::kHost;

MixedDecoder chosen_decoder() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read only
  const char* value = std::getenv("TORCHDALI_MIXED_DECODER");
  const std::string_view name = value == nullptr ? "" : value;
  if (name.empty()) return kDefault;
  if (name == "cpu") return MixedDecoder::kHost;
  if (name == "hybrid") return MixedDecoder::kHybrid;
  if (name == "gpu") return MixedDecoder::kGpu;
  TORCHDALI_CHECK_KIND(kValue, name == "nvjpeg", "TORCHDALI_MIXED_DECODER: unknown decoder \"",
                       name, "\", expected \"cpu\", \"hybrid\", \"gpu\" or \"nvjpeg\"");
  return MixedDecoder::kNvJpeg;
}

// The argument of both parts that selects the decoder, and its values.
constexpr const char *kDecoderArgument = "device_decoder", *kVideoArgument = "nvdec";
const char* argument_of(MixedDecoder decoder) {
  return decoder == MixedDecoder::kHost     ? "cpu"
         : decoder == MixedDecoder::kHybrid ? "hybrid"
         : decoder == MixedDecoder::kGpu    ? "gpu"
                                            : "nvjpeg";
}

Node& at(Graph& graph, int n) { return graph.nodes[static_cast<size_t>(n)]; }

// Whether an operator has parts, with this argument.
bool has_parts(const Node& node, const char* argument) {
  const Schema& schema = *node.schema;
  return (schema.mixed || schema.gpu_by_copy) && !schema.host_part.empty() &&
         find_schema(schema.host_part)->find_arg(argument) != nullptr;
}
bool is_decoder(const Node& node) { return has_parts(node, kDecoderArgument); }

// The node that is the only user of node `index`, by an input; or -1.
int find_only_user(const Graph& graph, int index, const std::vector<int>& uses) {
  if (uses[static_cast<size_t>(index)] != 1) return -1;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (const Edge& e : graph.nodes[n].inputs)
      if (e.node == index) return static_cast<int>(n);
  return -1;
}

// The decoder whose only use is the copy to the GPU `copy`; or -1.
int find_decoder(const Graph& graph, int copy, const std::vector<int>& uses) {
  const Node& node = graph.nodes[static_cast<size_t>(copy)];
  if (node.schema->graph_role != GraphRole::kCopyToDevice) return -1;
  const int decoder = node.inputs[0].node;
  return is_decoder(graph.nodes[static_cast<size_t>(decoder)]) &&
                 find_only_user(graph, decoder, uses) == copy
             ? decoder
             : -1;
}

// The resizer on the GPU that is the only user of `copy`, a copy of what `decoder` decodes; or -1.
int find_resizer(const Graph& graph, int decoder, int copy, const std::vector<int>& uses) {
  const Node& from = graph.nodes[static_cast<size_t>(decoder)];
  const int user = find_only_user(graph, copy, uses);
  if (user < 0 || from.schema->image_role != ImageRole::kDecoder) return -1;
  for (const std::string& name : from.schema->whole_image_args)
    if (from.args.contains(name)) return -1;
  const Node& to = graph.nodes[static_cast<size_t>(user)];
  const bool fits = to.schema->image_role == ImageRole::kResampler &&
                    !to.schema->host_part.empty() && to.on_gpu && to.inputs.size() == 1 &&
                    to.argument_inputs.empty() && covers(from.guards, to.guards);
  return fits ? user : -1;
}

std::vector<std::shared_ptr<const Node>> part_of(const Node& node) {
  return {std::make_shared<const Node>(node)};
}

// Replaces `decoder` by its host part and inserts its device part after `copy`. The users of the
// copy then use the device part. `argument` and `value` are for both.
Graph split(Graph graph, int decoder, int copy, const char* argument, const char* value) {
  for_each_edge(graph, [&](Edge& e) { e.node += e.node >= copy; });
  Node& host = at(graph, decoder);
  Node device = at(graph, copy);  // guards, device
  device.schema = find_schema(host.schema->device_part);
  device.name = host.name + ".device_part";
  device.location = host.location;
  // The last output of the host part is its description of the first one.
  const int description = count_outputs(make_spec(host, 1, 1, nullptr));
  device.inputs = {{copy, 0}, {decoder, description}};
  device.args.clear();
  for (const auto& [name, value] : host.args)
    if (device.schema->find_arg(name) != nullptr) device.args.emplace(name, value);
  device.part_of = host.part_of = part_of(host);
  host.schema = find_schema(host.schema->host_part);
  for (Node* part : {&host, &device}) part->args.emplace(argument, value);
  graph.nodes.insert(graph.nodes.begin() + copy + 1, std::move(device));
  return graph;
}

// Lets the host part of a decoder that was split decode only the region that `resizer` reads.
void narrow(Graph& graph, int decoder, int resizer) {
  Node& host = at(graph, decoder);
  Node& to = at(graph, resizer);
  to.part_of = part_of(to);
  host.schema = find_schema(to.schema->host_part);
  host.seed = to.seed;
  host.args.insert(to.args.begin(), to.args.end());
  host.part_of.push_back(to.part_of[0]);
  to.schema = find_schema(to.schema->device_part);
  to.inputs.push_back({decoder, 1});
}

// The decoder or reader of videos whose frames are only copied to the GPU by `copy`; or -1.
int find_video_decoder(const Graph& graph, int copy) {
  const Node& node = graph.nodes[static_cast<size_t>(copy)];
  if (node.schema->graph_role != GraphRole::kCopyToDevice || node.inputs[0].output != 0) return -1;
  const Edge frames = node.inputs[0];
  if (!has_parts(graph.nodes[static_cast<size_t>(frames.node)], kVideoArgument)) return -1;
  int uses = 0;
  for_each_edge(graph, [&](const Edge& e) { uses += e == frames; });
  return uses == 1 ? frames.node : -1;
}

}  // namespace

Graph split_video_decoders(Graph graph) {
  const gpu::nvdec::Use use = gpu::nvdec::chosen_use();
  if (use == gpu::nvdec::Use::kNever) return graph;
  const bool required = use == gpu::nvdec::Use::kAlways;
  for (int copy = 0; copy < static_cast<int>(graph.nodes.size()); ++copy) {
    const int decoder = find_video_decoder(graph, copy);
    if (decoder < 0) continue;
    std::string why;
    const bool found = gpu::nvdec::find_library(&why) != nullptr;
    TORCHDALI_CHECK_KIND(kRuntime, found || !required, "NVDEC was not found: ", why,
                         to_fix("install NVIDIA's driver, which contains libnvcuvid.so.1, or "
                                "set TORCHDALI_NVDEC to 1, and the CPU decodes videos"));
    if (!found) return graph;
    graph = split(std::move(graph), decoder, copy, kVideoArgument, required ? "required" : "1");
  }
  return graph;
}

Graph narrow_mixed_decoders(Graph graph) {
  const MixedDecoder choice = chosen_decoder();
  std::vector<int> uses = count_uses(graph);
  for (int copy = 0; copy < static_cast<int>(graph.nodes.size()); ++copy) {
    const int decoder = find_decoder(graph, copy, uses);
    const int resizer = decoder < 0 ? -1 : find_resizer(graph, decoder, copy, uses);
    if (resizer < 0) continue;
    graph = split(std::move(graph), decoder, copy, kDecoderArgument, argument_of(choice));
    narrow(graph, decoder, resizer + 1);
    uses = count_uses(graph);
  }
  return graph;
}

Graph split_mixed_decoders(Graph graph) {
  const MixedDecoder choice = chosen_decoder();
  if (choice == MixedDecoder::kHost) return graph;
  std::vector<int> uses = count_uses(graph);
  for (int copy = 0; copy < static_cast<int>(graph.nodes.size()); ++copy) {
    const int decoder = find_decoder(graph, copy, uses);
    if (decoder < 0) continue;
    graph = split(std::move(graph), decoder, copy, kDecoderArgument, argument_of(choice));
    uses = count_uses(graph);
  }
  return graph;
}

}  // namespace torchdali
