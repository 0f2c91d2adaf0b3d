// SPDX-License-Identifier: Apache-2.0
// The list of passes.
#include <utility>

#include "executor/graph/passes.h"

namespace torchdali {
namespace {

// Remembers the nodes before fusion, which pipelines show to users.
Graph record_kept_nodes(Graph graph) {
  graph.kept.clear();
  for (const Node& node : graph.nodes) graph.kept.push_back(node.origin);
  return graph;
}

struct Pass {
  Graph (*run)(Graph);
  bool fuses = false;
};

// In this order; docs/design/graph.md has the reasons.
constexpr Pass kPasses[] = {
    {.run = merge_equal_nodes},
    {.run = sink_into_branches},
    {.run = record_kept_nodes},
    {.run = fuse_expressions, .fuses = true},
    {.run = split_frame_sources, .fuses = true},
    {.run = chain_cpu_operators, .fuses = true},
    {.run = chain_audio_operators, .fuses = true},
    {.run = narrow_mixed_decoders, .fuses = true},
    {.run = split_mixed_decoders},
    {.run = split_video_decoders},
    {.run = split_array_readers},
    {.run = chain_gpu_operators, .fuses = true},
    {.run = chain_gpu_audio_operators, .fuses = true},
};

}  // namespace

Graph rewrite(Graph graph, bool fuse) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) graph.nodes[n].origin = static_cast<int>(n);
  for (const Pass& pass : kPasses)
    if (fuse || !pass.fuses) graph = pass.run(std::move(graph));
  return graph;
}

}  // namespace torchdali
