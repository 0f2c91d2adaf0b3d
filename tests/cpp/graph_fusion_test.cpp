// SPDX-License-Identifier: Apache-2.0
// The passes that fuse nodes, and those that divide decoders.
// sources: csrc/executor/graph/*.cpp csrc/gpu/gds/support.cpp csrc/gpu/nvdec/support.cpp csrc/gpu/vendor/*.cpp csrc/core/threads/*.cpp csrc/core/schema.cpp
// sanitizers: address
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "executor/graph/operator_error.h"
#include "executor/graph/passes.h"
#include "graphs.h"

namespace torchdali {
namespace {

Node step(std::vector<Edge> inputs, std::vector<ExpressionOperand> operands) {
  Node made = node("formula", std::move(inputs));
  made.args["steps"] = Expression{{.operation = "add", .operands = std::move(operands)}};
  return made;
}
ExpressionOperand input(int index) { return {.index = index}; }
const Expression& steps_of(const Node& n) { return std::get<Expression>(n.args.at("steps")); }

// -- expressions

void steps_of_an_expression_become_one_node() {
  // (a + b) + (a + 2)
  Graph g =
      graph({node("source"), node("plain", {{0, 0}}), step({{0, 0}, {1, 0}}, {input(0), input(1)}),
             step({{0, 0}}, {input(0), constant_operand(DType::kInt32, 2)}),
             step({{2, 0}, {3, 0}}, {input(0), input(1)})},
            {{4, 0}});
  g = fuse_expressions(std::move(g));
  EXPECT(operators(g) == "source plain formula");
  const Expression& steps = steps_of(g.nodes[2]);
  using Kind = ExpressionOperand::Kind;
  EXPECT(steps.size() == 3 && g.nodes[2].producers.size() == 2);
  EXPECT(g.nodes[2].inputs == std::vector<Edge>({{0, 0}, {1, 0}}));
  EXPECT(steps[0].operands == std::vector<ExpressionOperand>({input(0), input(1)}));
  EXPECT(steps[1].operands[1] == constant_operand(DType::kInt32, 2));
  EXPECT(steps[2].operands[0].kind == Kind::kStep && steps[2].operands[0].index == 0);
  EXPECT(steps[2].operands[1].kind == Kind::kStep && steps[2].operands[1].index == 1);
}

void a_step_that_others_use_stays_a_node() {
  const auto fused = [](Node user) {
    Graph g = graph({node("source"), step({{0, 0}}, {input(0), input(0)}),
                     step({{1, 0}}, {input(0), input(0)}), std::move(user)},
                    {{2, 0}, {3, 0}});
    return fuse_expressions(std::move(g)).nodes.size();
  };
  EXPECT(fused(node("plain", {{0, 0}})) == 3);
  EXPECT(fused(node("plain", {{1, 0}})) == 4);
  EXPECT(fused(node("plain", {}, {{{1, 0}, true}})) == 4);
  Node argument = node("plain");
  argument.argument_inputs["number"] = {1, 0};
  EXPECT(fused(std::move(argument)) == 4);
}

void errors_of_an_expression_name_the_step() {
  Node first = step({{0, 0}}, {input(0), input(0)}), second = step({{1, 0}}, {input(0), input(0)});
  first.location = "train.py:1";
  second.location = "train.py:2";
  Graph g = graph({node("source"), std::move(first), std::move(second)}, {{2, 0}});
  g = fuse_expressions(std::move(g));
  Error inside(ErrorKind::kValue, "");
  inside.set_producer(0);
  EXPECT(OperatorError(inside, g.nodes[1]).location == "train.py:1");
  EXPECT(OperatorError(Error(ErrorKind::kValue, ""), g.nodes[1]).location == "train.py:2");
}

void steps_fuse_only_if_they_run_for_the_same_samples() {
  const auto count = [](std::vector<Guard> first, std::vector<Guard> second) {
    Node a = step({{0, 0}}, {input(0), input(0)}), b = step({{2, 0}}, {input(0), input(0)});
    a.guards = std::move(first);
    b.guards = std::move(second);
    Graph g =
        graph({node("source"), node("plain", {{0, 0}}), std::move(a), std::move(b)}, {{3, 0}});
    return fuse_expressions(std::move(g)).nodes.size();
  };
  const Guard yes = {{1, 0}, true}, no = {{1, 0}, false};
  EXPECT(count({}, {yes}) == 3 && count({yes}, {yes}) == 3);
  EXPECT(count({yes}, {no}) == 4 && count({yes, no}, {yes}) == 4);
}

void a_damaged_step_is_left_for_its_operator_to_refuse() {
  Graph g =
      graph({node("source"), step({{0, 0}}, {input(7)}), step({{1, 0}}, {input(0)})}, {{2, 0}});
  EXPECT(fuse_expressions(std::move(g)).nodes.size() == 3);
}

// -- chains

void a_chain_takes_the_place_of_its_last_operator() {
  Graph g = graph(
      {node("source"), node("decoder", {{0, 0}}), node("resizer", {{1, 0}}),
       node("pixelwise", {{2, 0}, {0, 0}}), node("normalizer", {{3, 0}}), node("plain", {{4, 0}})},
      {{5, 0}});
  g.nodes[4].argument_inputs["number"] = {0, 0};
  g = chain_cpu_operators(std::move(g));
  EXPECT(operators(g) == "source normalizer plain");
  const Node& chain = g.nodes[1];
  EXPECT(chain.members.size() == 4 && chain.producers.size() == 3);
  EXPECT(chain.inputs == std::vector<Edge>({{0, 0}, {0, 0}}));
  EXPECT(chain.members[2].inputs == std::vector<int>({kChainValue, 1}));
  EXPECT(chain.argument_inputs.begin()->first == "000003.number");
  EXPECT(chain.members[0].node->resampled);
}

void errors_of_a_chain_name_the_member() {
  Graph g = graph({node("source"), node("decoder", {{0, 0}}), node("resizer", {{1, 0}})}, {{2, 0}});
  g = chain_cpu_operators(std::move(g));
  EXPECT(OperatorError(Error(ErrorKind::kData, ""), g.nodes[1]).op == "resizer");
  Error of_producer(ErrorKind::kData, "");
  of_producer.set_producer(0);
  EXPECT(OperatorError(of_producer, g.nodes[1]).op == "decoder");
}

void members_of_a_chain_run_for_the_same_samples() {
  const auto count = [](std::vector<Guard> first, std::vector<Guard> second) {
    Graph g = graph({node("source"), node("plain", {{0, 0}}), node("resizer", {{0, 0}}, first),
                     node("pixelwise", {{2, 0}}, second)},
                    {{3, 0}});
    return chain_cpu_operators(std::move(g)).nodes.size();
  };
  const Guard yes = {{1, 0}, true}, no = {{1, 0}, false};
  EXPECT(count({}, {}) == 3 && count({yes}, {yes}) == 3 && count({}, {yes}) == 3);
  EXPECT(count({yes}, {no}) == 4 && count({yes}, {}) == 4 && count({yes, no}, {yes}) == 4);
}

void a_value_with_two_uses_ends_a_chain() {
  Graph g = graph({node("source"), node("resizer", {{0, 0}}), node("pixelwise", {{1, 0}}),
                   node("normalizer", {{2, 0}})},
                  {{3, 0}, {2, 0}});
  g = chain_cpu_operators(std::move(g));
  EXPECT(operators(g) == "source pixelwise normalizer");
}

void operators_of_two_devices_are_not_chained() {
  Graph g =
      graph({node("source"), node("resizer", {{0, 0}}), node("pixelwise", {{1, 0}})}, {{2, 0}});
  g.nodes[1].on_gpu = true;
  EXPECT(chain_cpu_operators(g).nodes.size() == 3);
  EXPECT(chain_gpu_operators(std::move(g)).nodes.size() == 3);
}

void a_source_leaves_its_frames_to_a_chain() {
  Graph g =
      graph({node("clips"), node("resizer", {{0, 0}}), node("plain", {{0, 1}})}, {{1, 0}, {2, 0}});
  g = split_frame_sources(std::move(g));
  EXPECT(operators(g) == "clips clips.frames resizer plain");
  EXPECT(g.nodes[0].leaves_frames && g.nodes[1].inputs == std::vector<Edge>({{0, 0}}));
  EXPECT(g.nodes[2].inputs == std::vector<Edge>({{1, 0}}));
  EXPECT(g.nodes[3].inputs == std::vector<Edge>({{0, 1}}));
  g = chain_cpu_operators(std::move(g));
  EXPECT(operators(g) == "clips resizer plain");
  Error of_frames(ErrorKind::kData, "");
  of_frames.set_producer(0);
  EXPECT(OperatorError(of_frames, g.nodes[1]).op == "clips");
}
void a_source_makes_its_frames_if_no_chain_takes_them() {
  const auto operators_of = [](std::vector<Node> users, std::vector<Edge> outputs) {
    users.insert(users.begin(), node("clips"));
    const Graph g = split_frame_sources(graph(std::move(users), std::move(outputs)));
    EXPECT(!g.nodes[0].leaves_frames);
    return operators(g);
  };
  EXPECT(operators_of({}, {{0, 0}}) == "clips");
  EXPECT(operators_of({node("resizer", {{0, 0}})}, {{0, 0}, {1, 0}}) == "clips resizer");
  EXPECT(operators_of({node("pixelwise", {{0, 0}})}, {{1, 0}}) == "clips pixelwise");
  EXPECT(operators_of({node("resizer", {{0, 1}})}, {{1, 0}}) == "clips resizer");
  // Its samples are decoded, and damage found, whatever branch they take.
  EXPECT(operators_of({node("plain"), node("resizer", {{0, 0}}, {{{1, 0}, true}})}, {{2, 0}}) ==
         "clips plain resizer");
}
void a_decoder_knows_that_nothing_resamples_its_image() {
  Graph g = graph({node("source"), node("decoder", {{0, 0}}), node("window", {{1, 0}})}, {{2, 0}});
  g = chain_cpu_operators(std::move(g));
  EXPECT(!g.nodes[1].members[0].node->resampled);
}

// -- mixed decoders

Graph mixed() {
  Graph g = graph({node("source"), node("decoder", {{0, 0}}), node("upload", {{1, 0}}),
                   node("resizer", {{2, 0}})},
                  {{3, 0}});
  g.nodes[2].on_gpu = g.nodes[3].on_gpu = true;
  return g;
}

void a_resizer_narrows_the_decoder() {
  const Graph g = narrow_mixed_decoders(mixed());
  EXPECT(operators(g) == "source resizer.host upload decoder.device resizer.device");
  EXPECT(g.nodes[4].inputs == std::vector<Edge>({{3, 0}, {1, 1}}));
  EXPECT(g.nodes[3].inputs == std::vector<Edge>({{2, 0}, {1, 1}}));
  EXPECT(g.nodes[1].part_of.size() == 2 && g.nodes[1].part_of[1]->schema->name == "resizer");
  EXPECT(split_mixed_decoders(g).nodes.size() == 5);
}

void some_arguments_keep_the_decoder_whole() {
  Graph g = mixed();
  g.nodes[1].args["whole"] = true;
  EXPECT(operators(narrow_mixed_decoders(std::move(g))) == "source decoder upload resizer");
}

void a_decoder_with_another_use_is_not_split() {
  Graph g = mixed();
  g.outputs.push_back({1, 0});
  EXPECT(operators(narrow_mixed_decoders(std::move(g))) == "source decoder upload resizer");
}

void the_environment_says_who_decodes() {
  EXPECT(operators(split_mixed_decoders(mixed())) == "source decoder upload resizer");
  setenv("TORCHDALI_MIXED_DECODER", "hybrid", 1);
  const Graph g = split_mixed_decoders(mixed());
  EXPECT(operators(g) == "source decoder.host upload decoder.device resizer");
  EXPECT(std::get<std::string>(g.nodes[1].args.at("device_decoder")) == "hybrid");
  setenv("TORCHDALI_MIXED_DECODER", "nobody", 1);
  EXPECT_THROW(Error, split_mixed_decoders(mixed()), EXPECT(e.kind() == ErrorKind::kValue));
  unsetenv("TORCHDALI_MIXED_DECODER");
}

void operators_follow_the_device_part() {
  setenv("TORCHDALI_MIXED_DECODER", "hybrid", 1);
  Graph whole = graph({node("source"), node("sizing", {{0, 0}}), node("upload", {{1, 0}}),
                       node("plain", {{2, 0}}), node("plain", {{3, 0}, {2, 0}})},
                      {{4, 0}});
  whole.nodes[1].args["raises"] = true;
  whole.nodes[1].argument_inputs["size"] = {0, 0};
  whole.nodes[1].location = "train.py:7";
  const Graph g = split_mixed_decoders(std::move(whole));
  EXPECT(operators(g) == "source sizing.host upload decoder.device sizing.size other plain plain");
  EXPECT(g.nodes[3].inputs == std::vector<Edge>({{2, 0}, {1, 1}}));
  EXPECT(g.nodes[4].inputs == std::vector<Edge>({{3, 0}}));
  EXPECT(g.nodes[5].inputs == std::vector<Edge>({{4, 0}}));
  EXPECT(g.nodes[6].inputs == std::vector<Edge>({{5, 0}}));
  EXPECT(g.nodes[7].inputs == std::vector<Edge>({{6, 0}, {5, 0}}));
  EXPECT(g.nodes[4].argument_inputs.at("size") == (Edge{0, 0}) && g.nodes[4].args.empty());
  EXPECT(std::get<int64_t>(g.nodes[5].args.at("number")) == 7);
  // Errors are those of the whole.
  const OperatorError error(Error(ErrorKind::kValue, ""), g.nodes[4]);
  EXPECT(error.op == "sizing" && error.location == "train.py:7");
  unsetenv("TORCHDALI_MIXED_DECODER");
}

}  // namespace
}  // namespace torchdali

int main() {
  using namespace torchdali;  // NOLINT
  steps_of_an_expression_become_one_node();
  a_step_that_others_use_stays_a_node();
  errors_of_an_expression_name_the_step();
  steps_fuse_only_if_they_run_for_the_same_samples();
  a_damaged_step_is_left_for_its_operator_to_refuse();
  a_chain_takes_the_place_of_its_last_operator();
  errors_of_a_chain_name_the_member();
  members_of_a_chain_run_for_the_same_samples();
  a_value_with_two_uses_ends_a_chain();
  operators_of_two_devices_are_not_chained();
  a_source_leaves_its_frames_to_a_chain();
  a_source_makes_its_frames_if_no_chain_takes_them();
  a_decoder_knows_that_nothing_resamples_its_image();
  a_resizer_narrows_the_decoder();
  some_arguments_keep_the_decoder_whole();
  a_decoder_with_another_use_is_not_split();
  operators_follow_the_device_part();
  the_environment_says_who_decodes();
  std::puts("graph_fusion_test: ok");
}
