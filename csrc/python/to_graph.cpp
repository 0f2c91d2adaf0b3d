// SPDX-License-Identifier: Apache-2.0
#include "python/to_graph.h"

#include <string>
#include <utility>
#include <vector>

namespace torchdali {
namespace {

Edge to_edge(nb::handle pair) {
  const auto [node, output] = nb::cast<std::pair<int, int>>(pair);
  return {node, output};
}

Node to_node(const nb::dict& d) {
  Node node;
  const auto op = nb::cast<std::string>(d["op"]);
  node.schema = find_schema(op);
  TORCHDALI_CHECK(node.schema != nullptr, "there is no operator ", op);
  node.name = nb::cast<std::string>(d["name"]);
  node.seed = nb::cast<uint64_t>(d["seed"]);
  node.on_gpu = nb::cast<bool>(d["on_gpu"]);
  node.named = nb::cast<bool>(d["named"]);
  node.required = nb::cast<bool>(d["required"]);
  if (d.contains("on_error") && !d["on_error"].is_none())
    node.on_error = on_error_of(nb::cast<std::string>(d["on_error"]));
  node.location = encode_text(d["location"]);
  for (const auto e : nb::object(d["inputs"])) node.inputs.push_back(to_edge(e));
  for (const auto& [name, e] : nb::cast<nb::dict>(d["arg_inputs"]))
    node.argument_inputs.emplace(nb::cast<std::string>(name), to_edge(e));
  for (const auto& [edge, value] : nb::cast<std::vector<std::pair<nb::object, bool>>>(d["guards"]))
    node.guards.push_back({to_edge(edge), value});
  for (const auto& [name, value] : nb::cast<nb::dict>(d["args"])) {
    const auto arg = nb::cast<std::string>(name);
    node.args.emplace(arg, to_arg_value(value, *node.schema, arg));
  }
  return node;
}

}  // namespace

OnError on_error_of(std::string_view name) {
  if (name == "skip") return OnError::kSkip;
  if (name == "replace") return OnError::kReplace;
  TORCHDALI_ASSERT(name == "raise", name);
  return OnError::kRaise;
}

Graph to_graph(const nb::list& nodes, const nb::list& outputs) {
  Graph graph;
  for (const auto d : nodes) graph.nodes.push_back(to_node(nb::cast<nb::dict>(d)));
  for (const auto e : outputs) graph.outputs.push_back(to_edge(e));
  return graph;
}

}  // namespace torchdali
