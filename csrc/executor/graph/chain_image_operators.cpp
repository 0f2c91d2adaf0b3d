// SPDX-License-Identifier: Apache-2.0
// chain_cpu_operators(), chain_gpu_operators(): operators over one image become one node, a chain.
#include <algorithm>
#include <utility>

#include "executor/graph/chain_nodes.h"
#include "executor/graph/passes.h"

namespace torchdali {
namespace {

ImageRole role(const Node& node) { return node.schema->image_role; }

bool has(ChainRules::Path chain, auto... roles) {
  return std::any_of(chain.begin(), chain.end(),
                     [&](const Node* n) { return ((role(*n) == roles) || ...); });
}

class ImageRules final : public ChainRules {
 public:
  explicit ImageRules(bool on_gpu) : on_gpu_(on_gpu) {}

  bool is_member(const Node& node) const override {
    return role(node) != ImageRole::kNone && node.on_gpu == on_gpu_ &&
           (!on_gpu_ || node.schema->chains_on_gpu) &&
           count_outputs(make_spec(node, 1, 1, nullptr)) == 1;
  }
  size_t count_value_inputs(const Node& member) const override {
    if (role(member) == ImageRole::kDecoder) return 0;
    return role(member) == ImageRole::kPixelwise ? member.inputs.size() : 1;
  }
  bool can_be_followed(const Node& member) const override {
    return role(member) != ImageRole::kNormalizer;
  }

  // [decoder] windows* [resampler] (windows, flips, pixelwise)* [normalizer]
  size_t measure(Path path) const override {
    const auto is = [&](size_t at, auto... roles) {
      return at < path.size() && ((role(*path[at]) == roles) || ...);
    };
    size_t end = 0;
    end += is(end, ImageRole::kDecoder);
    while (is(end, ImageRole::kWindow)) ++end;
    end += is(end, ImageRole::kResampler);
    while (is(end, ImageRole::kWindow, ImageRole::kFlip, ImageRole::kPixelwise)) ++end;
    end += is(end, ImageRole::kNormalizer);
    // A decoder gains nothing from operators that need all of its pixels.
    if (is(0, ImageRole::kDecoder)) {
      size_t at = 1;
      while (at < end && is(at, ImageRole::kFlip, ImageRole::kPixelwise)) ++at;
      if (at == end) return 1;
    }
    return std::max<size_t>(end, 1);
  }

  // On the GPU it saves kernel launches.
  bool is_worthwhile(Path chain) const override {
    return on_gpu_ || has(chain, ImageRole::kDecoder, ImageRole::kResampler, ImageRole::kPixelwise,
                          ImageRole::kNormalizer);
  }
  void prepare(Path chain) const override {
    if (!on_gpu_) chain[0]->resampled = has(chain, ImageRole::kResampler);
  }

 private:
  const bool on_gpu_;
};

}  // namespace

Graph chain_cpu_operators(Graph graph) {
  return chain_nodes(std::move(graph), ImageRules(/*on_gpu=*/false));
}
Graph chain_gpu_operators(Graph graph) {
  return chain_nodes(std::move(graph), ImageRules(/*on_gpu=*/true));
}

}  // namespace torchdali
