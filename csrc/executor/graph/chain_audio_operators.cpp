// SPDX-License-Identifier: Apache-2.0
// chain_audio_operators(), chain_gpu_audio_operators(): operators over one clip of audio become one
// node, a chain.
#include <algorithm>
#include <utility>

#include "executor/graph/chain_nodes.h"
#include "executor/graph/passes.h"

namespace torchdali {
namespace {

AudioRole role(const Node& node) { return node.schema->audio_role; }

class AudioRules final : public ChainRules {
 public:
  explicit AudioRules(bool on_gpu) : on_gpu_(on_gpu) {}

  bool is_member(const Node& node) const override {
    return role(node) != AudioRole::kNone && node.on_gpu == on_gpu_ &&
           (!on_gpu_ || node.schema->chains_on_gpu);
  }
  size_t count_value_inputs(const Node& member) const override {
    return role(member) == AudioRole::kDecoder ? 0 : 1;
  }
  bool can_be_followed(const Node& /*member*/) const override { return true; }

  // [decoder] signal* spectrum frames*; on the GPU, spectrum frames*. All else stays as it is.
  size_t measure(Path path) const override {
    const auto is = [&](size_t at, AudioRole r) {
      return at < path.size() && role(*path[at]) == r;
    };
    size_t end = 0;
    if (!on_gpu_) {
      end += is(end, AudioRole::kDecoder);
      while (is(end, AudioRole::kSignal)) ++end;
    }
    if (!is(end, AudioRole::kSpectrum)) return 1;
    ++end;
    while (is(end, AudioRole::kFrames)) ++end;
    return end;
  }
  bool is_worthwhile(Path /*chain*/) const override { return true; }

 private:
  const bool on_gpu_;
};

}  // namespace

Graph chain_audio_operators(Graph graph) {
  return chain_nodes(std::move(graph), AudioRules(/*on_gpu=*/false));
}
Graph chain_gpu_audio_operators(Graph graph) {
  return chain_nodes(std::move(graph), AudioRules(/*on_gpu=*/true));
}

}  // namespace torchdali
