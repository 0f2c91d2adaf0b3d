// SPDX-License-Identifier: Apache-2.0
// Edges of graphs, and the passes that run with and without fusion.
// sources: csrc/executor/graph/*.cpp csrc/gpu/gds/support.cpp csrc/gpu/nvdec/support.cpp csrc/gpu/vendor/*.cpp csrc/core/threads/*.cpp csrc/core/schema.cpp
// sanitizers: address
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/graph/edges.h"
#include "executor/graph/operator_error.h"
#include "executor/graph/passes.h"
#include "graphs.h"

namespace torchdali {
namespace {

// -- edges

void uses_are_inputs_arguments_guards_and_outputs() {
  Graph g = graph({node("source"), node("plain", {{0, 0}, {0, 0}}, {{{0, 0}, true}})}, {{0, 0}});
  EXPECT(count_uses(g) == std::vector<int>({4, 0}));
  g.nodes[1].argument_inputs["number"] = {0, 0};
  EXPECT(count_uses(g) == std::vector<int>({5, 0}));
}

void selected_nodes_keep_their_edges() {
  Graph g = graph({node("source"), node("plain"), node("other", {{0, 0}}), node("source")},
                  {{2, 0}, {3, 0}});
  g = select_nodes(std::move(g), {3, 0, 2});
  EXPECT(operators(g) == "source source other");
  EXPECT(g.nodes[2].inputs[0] == (Edge{1, 0}));
  EXPECT(g.outputs == std::vector<Edge>({{2, 0}, {0, 0}}));
}

void dropping_a_node_that_is_used_is_an_internal_error() {
  Graph g = graph({node("source"), node("plain", {{0, 0}})}, {{1, 0}});
  EXPECT_THROW(Error, select_nodes(std::move(g), {1}), EXPECT(e.kind() == ErrorKind::kInternal));
}

void errors_of_verification_name_the_operator() {
  EXPECT_THROW(OperatorError, graph({node("source", {{0, 0}})}, {}), EXPECT(e.op == "source"));
  EXPECT_THROW(OperatorError, graph({node("source"), node("plain", {{0, 1}})}, {}),
               EXPECT(e.op == "plain"));
}

// -- merging

void equal_nodes_become_one() {
  Graph g = graph({node("source"), node("plain", {{0, 0}}), node("plain", {{0, 0}}),
                   node("other", {{1, 0}}), node("other", {{2, 0}})},
                  {{3, 0}, {4, 0}});
  g = merge_equal_nodes(std::move(g));
  EXPECT(operators(g) == "source plain other");
  EXPECT(g.outputs == std::vector<Edge>({{2, 0}, {2, 0}}));
  EXPECT(g.merged_into == std::vector<int>({0, 1, 1, 3, 3}));
}

void nodes_differ_by_each_of_their_parts() {
  const auto count = [](auto change) {
    Graph g =
        graph({node("source"), node("source"), node("plain", {{0, 0}}), node("plain", {{0, 0}})},
              {{2, 0}, {3, 0}});
    g.nodes[1].named = true;  // the sources are not merged
    change(g.nodes[3]);
    return merge_equal_nodes(std::move(g)).nodes.size();
  };
  EXPECT(count([](Node&) {}) == 3);
  EXPECT(count([](Node& n) { n.seed = 1; }) == 4);
  EXPECT(count([](Node& n) { n.on_gpu = true; }) == 4);
  EXPECT(count([](Node& n) { n.named = true; }) == 4);
  EXPECT(count([](Node& n) { n.inputs[0].node = 1; }) == 4);
  EXPECT(count([](Node& n) { n.args["number"] = 1.0; }) == 4);
  EXPECT(count([](Node& n) { n.argument_inputs["number"] = {0, 0}; }) == 4);
  EXPECT(count([](Node& n) { n.guards = {{{0, 0}, true}}; }) == 4);
}

void arguments_are_equal_if_their_bytes_are() {
  const auto merged = [](ArgValue a, ArgValue b) {
    Graph g = graph({node("plain"), node("plain")}, {{0, 0}, {1, 0}});
    g.nodes[0].args["number"] = std::move(a);
    g.nodes[1].args["number"] = std::move(b);
    return merge_equal_nodes(std::move(g)).nodes.size() == 1;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT(merged(nan, nan));
  EXPECT(!merged(0.0, -0.0));
  EXPECT(!merged(1.0, int64_t{1}));
  EXPECT(!merged(true, int64_t{1}));
  EXPECT(merged(std::vector<double>{1, nan}, std::vector<double>{1, nan}));
  EXPECT(!merged(std::vector<double>{1, 2}, std::vector<double>{1}));
  EXPECT(merged(std::vector<std::string>{"ab", "c"}, std::vector<std::string>{"ab", "c"}));
  EXPECT(!merged(std::vector<std::string>{"ab", "c"}, std::vector<std::string>{"a", "bc"}));
  EXPECT(
      merged(std::make_shared<const std::string>("x"), std::make_shared<const std::string>("x")));
  const Expression one = {{.operation = "add", .operands = {constant_operand(DType::kUInt8, 300)}}};
  const Expression same = {{.operation = "add", .operands = {constant_operand(DType::kUInt8, 44)}}};
  EXPECT(merged(one, same));
}

void nodes_with_effects_or_data_from_the_user_stay_apart() {
  Graph g =
      graph({node("external"), node("external"), node("effect"), node("effect")}, {{0, 0}, {1, 0}});
  EXPECT(merge_equal_nodes(std::move(g)).nodes.size() == 4);
}

void a_merged_node_is_required_if_either_was() {
  Graph g = graph({node("plain"), node("plain")}, {{0, 0}});
  g.nodes[1].required = true;
  EXPECT(merge_equal_nodes(std::move(g)).nodes[0].required);
}

// -- sinking

// source, predicate, `in_branch` of the source, merge of it (or the source) by the predicate.
Graph branch(Node in_branch, bool value) {
  in_branch.inputs = {{0, 0}};
  const Edge used = {2, 0}, source = {0, 0};
  return graph({node("source"), node("plain", {{0, 0}}), std::move(in_branch),
                node("merge", {value ? used : source, value ? source : used, {1, 0}})},
               {{3, 0}});
}

void a_node_for_one_branch_gets_its_guard() {
  for (const bool value : {true, false}) {
    const Graph g = sink_into_branches(branch(node("other"), value));
    EXPECT(g.nodes[2].guards == std::vector<Guard>({{{1, 0}, value}}));
    EXPECT(g.nodes[0].guards.empty() && g.nodes[1].guards.empty());
  }
}

void nodes_that_have_to_run_do_not_sink() {
  EXPECT(sink_into_branches(branch(node("effect"), true)).nodes[2].guards.empty());
  Node required = node("other");
  required.required = true;
  EXPECT(sink_into_branches(branch(std::move(required), true)).nodes[2].guards.empty());
  Graph output = branch(node("other"), true);
  output.outputs.push_back({2, 0});
  EXPECT(sink_into_branches(std::move(output)).nodes[2].guards.empty());
}

void a_node_for_both_branches_does_not_sink() {
  Graph g = branch(node("other"), true);
  g.nodes[3].inputs = {{2, 0}, {2, 0}, {1, 0}};
  EXPECT(sink_into_branches(std::move(g)).nodes[2].guards.empty());
}

void a_predicate_comes_before_what_it_guards() {
  // The predicate is made after the node that sinks.
  Graph g = graph({node("source"), node("other", {{0, 0}}), node("plain", {{0, 0}}),
                   node("merge", {{1, 0}, {0, 0}, {2, 0}})},
                  {{3, 0}});
  g = sink_into_branches(std::move(g));
  EXPECT(operators(g) == "source plain other merge");
  EXPECT(g.nodes[2].guards == std::vector<Guard>({{{1, 0}, true}}));
}

void a_node_that_its_predicate_depends_on_does_not_sink() {
  Graph g = graph({node("source"), node("other", {{0, 0}}), node("plain", {{1, 0}}),
                   node("merge", {{1, 0}, {0, 0}, {2, 0}})},
                  {{3, 0}});
  EXPECT(sink_into_branches(std::move(g)).nodes[1].guards.empty());
}

// -- all of them

void without_fusion_nodes_are_merged_and_sink() {
  Graph g = graph({node("source"), node("plain", {{0, 0}}), node("pixelwise", {{0, 0}}),
                   node("pixelwise", {{0, 0}}), node("pixelwise", {{3, 0}}),
                   node("merge", {{4, 0}, {0, 0}, {1, 0}})},
                  {{5, 0}});
  const Graph fused = rewrite(g, true), plain = rewrite(std::move(g), false);
  EXPECT(operators(plain) == "source plain pixelwise pixelwise merge");
  EXPECT(operators(fused) == "source plain pixelwise merge");
  EXPECT(plain.kept == std::vector<int>({0, 1, 2, 4, 5}) && fused.kept == plain.kept);
  EXPECT(plain.merged_into == std::vector<int>({0, 1, 2, 2, 4, 5}));
}

}  // namespace
}  // namespace torchdali

int main() {
  using namespace torchdali;  // NOLINT
  uses_are_inputs_arguments_guards_and_outputs();
  selected_nodes_keep_their_edges();
  dropping_a_node_that_is_used_is_an_internal_error();
  errors_of_verification_name_the_operator();
  equal_nodes_become_one();
  nodes_differ_by_each_of_their_parts();
  arguments_are_equal_if_their_bytes_are();
  nodes_with_effects_or_data_from_the_user_stay_apart();
  a_merged_node_is_required_if_either_was();
  a_node_for_one_branch_gets_its_guard();
  nodes_that_have_to_run_do_not_sink();
  a_node_for_both_branches_does_not_sink();
  a_predicate_comes_before_what_it_guards();
  a_node_that_its_predicate_depends_on_does_not_sink();
  without_fusion_nodes_are_merged_and_sink();
  std::puts("graph_test: ok");
}
