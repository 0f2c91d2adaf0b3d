// SPDX-License-Identifier: Apache-2.0
// narrow_mixed_decoders(), split_mixed_decoders(), split_video_decoders(): how host and GPU share
// the work of decoding.
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/graph/edges.h"
#include "executor/graph/operator_error.h"
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

// A part of `whole` on the GPU, with the arguments that it knows. It has the guards of `copy`.
Node device_part(const Node& whole, const Node& copy, const std::string& op, const char* suffix) {
  Node part = copy;
  part.schema = find_schema(op);
  part.name = whole.name + suffix;
  part.location = whole.location;
  part.on_error = whole.on_error;
  part.args.clear();
  const auto knows = [&part](const std::string& name) {
    const ArgSchema* arg = part.schema->find_arg(name);
    return arg != nullptr && !arg->ignored;
  };
  for (const auto& [name, value] : whole.args)
    if (knows(name)) part.args.emplace(name, value);
  for (const auto& [name, edge] : whole.argument_inputs)
    if (knows(name)) part.argument_inputs.emplace(name, edge);
  part.part_of = part_of(whole);
  return part;
}

// Replaces `decoder` by its host part and inserts its parts on the GPU after `copy`. The users of
// the copy then use the last one. `argument` and `value` are for the host part and the device part.
Graph split(Graph graph, int decoder, int copy, const char* argument, const char* value) {
  Node& host = at(graph, decoder);
  const OpSpec spec = make_spec(host, 1, 1, nullptr);
  std::vector<Node> added = {
      device_part(host, at(graph, copy), host.schema->device_part, ".device_part")};
  // The last output of the host part is its description of the first one.
  added[0].inputs = {{copy, 0}, {decoder, count_outputs(spec)}};
  if (host.schema->next_parts)
    for (const NextPart& next :
         with_operator_errors(host, [&] { return host.schema->next_parts(spec); })) {
      const std::string suffix = "." + next.op;
      Node part = device_part(host, at(graph, copy), next.op, suffix.c_str());
      part.args.insert(next.args.begin(), next.args.end());
      part.inputs = {{copy + static_cast<int>(added.size()), 0}};
      added.push_back(std::move(part));
    }
  const int count = static_cast<int>(added.size());
  for_each_edge(graph, [&](Edge& e) { e.node += e.node >= copy ? count : 0; });
  host.part_of = part_of(host);
  host.schema = find_schema(host.schema->host_part);
  for (Node* part : {&host, added.data()}) part->args.emplace(argument, value);
  graph.nodes.insert(graph.nodes.begin() + copy + 1, std::make_move_iterator(added.begin()),
                     std::make_move_iterator(added.end()));
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
