// SPDX-License-Identifier: Apache-2.0
// Operators that exist in the tests of graphs only, and graphs of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/operator.h"
#include "executor/graph/graph.h"
#include "expect.h"

namespace torchdali {

struct Nothing final : Operator {
  explicit Nothing(const OpSpec&) {}
  void run(SampleContext&) const override {}
};

inline SchemaBuilder& add_common(SchemaBuilder& schema) {
  return schema.variadic_input("in", "", 4)
      .output("out", "")
      .optional_arg("number", ArgType::kFloat, "", Arity::kPerSample)
      .optional_arg("list", ArgType::kFloatVec, "")
      .cpu<Nothing>()
      .gpu<Nothing>();
}

TORCHDALI_OPERATOR("source").output("out", "").source().cpu<Nothing>();
TORCHDALI_OPERATOR("clips")
    .output("frames", "")
    .output("label", "")
    .source()
    .frames_part("clips.frames")
    .cpu<Nothing>();
TORCHDALI_OPERATOR("clips.frames").with(add_common).hidden().image_role(ImageRole::kDecoder);
TORCHDALI_OPERATOR("external").output("out", "").external_source().cpu<Nothing>();
TORCHDALI_OPERATOR("plain").with(add_common);
TORCHDALI_OPERATOR("other").with(add_common);
TORCHDALI_OPERATOR("effect").with(add_common).side_effects();
TORCHDALI_OPERATOR("merge").with(add_common).graph_role(GraphRole::kMerge);
TORCHDALI_OPERATOR("upload").with(add_common).graph_role(GraphRole::kCopyToDevice);
TORCHDALI_OPERATOR("formula")
    .variadic_input("in", "", 4)
    .output("out", "")
    .expression_arg("steps", "")
    .cpu<Nothing>();
TORCHDALI_OPERATOR("decoder")
    .with(add_common)
    .optional_arg("whole", ArgType::kBool, "")
    .mixed()
    .image_role(ImageRole::kDecoder)
    .parts("decoder.host", "decoder.device")
    .whole_image_args({"whole"});
TORCHDALI_OPERATOR("decoder.host")
    .with(add_common)
    .arg("device_decoder", "hybrid", "")
    .output("description", "");
TORCHDALI_OPERATOR("decoder.device").with(add_common);
TORCHDALI_OPERATOR("resizer")
    .with(add_common)
    .image_role(ImageRole::kResampler)
    .parts("resizer.host", "resizer.device");
TORCHDALI_OPERATOR("resizer.host").with(add_common).output("description", "");
TORCHDALI_OPERATOR("resizer.device").with(add_common);
TORCHDALI_OPERATOR("sizing")
    .with(add_common)
    .arg("size", 1, "", Arity::kPerSample)
    .arg("raises", false, "")
    .mixed()
    .parts("sizing.host", "decoder.device")
    .next_parts([](const OpSpec& spec) {
      std::vector<NextPart> parts = {{.op = "sizing.size"}};
      if (spec.get<bool>("raises"))
        parts.push_back({.op = "other", .args = {{"number", int64_t{7}}}});
      return parts;
    });
TORCHDALI_OPERATOR("sizing.host")
    .with(add_common)
    .arg("device_decoder", "hybrid", "")
    .arg("size", 1, "", Arity::kPerSample)
    .arg("raises", false, "")
    .output("description", "");
TORCHDALI_OPERATOR("sizing.size").with(add_common).arg("size", 1, "", Arity::kPerSample);
TORCHDALI_OPERATOR("window").with(add_common).image_role(ImageRole::kWindow);
TORCHDALI_OPERATOR("pixelwise").with(add_common).image_role(ImageRole::kPixelwise);
TORCHDALI_OPERATOR("normalizer").with(add_common).image_role(ImageRole::kNormalizer);

inline Node node(const char* op, std::vector<Edge> inputs = {}, std::vector<Guard> guards = {}) {
  Node made;
  made.schema = find_schema(op);
  EXPECT(made.schema != nullptr);
  made.inputs = std::move(inputs);
  made.guards = std::move(guards);
  return made;
}

inline Graph graph(std::vector<Node> nodes, std::vector<Edge> outputs) {
  Graph made;
  made.nodes = std::move(nodes);
  made.outputs = std::move(outputs);
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    made.nodes[n].origin = static_cast<int>(n);
    made.nodes[n].name = std::to_string(n);
  }
  verify(made);
  return made;
}

// Returns the operators of a graph in order: "source plain".
inline std::string operators(const Graph& g) {
  std::string text;
  for (const Node& n : g.nodes) text += (text.empty() ? "" : " ") + n.schema->name;
  return text;
}

}  // namespace torchdali
