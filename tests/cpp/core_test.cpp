// SPDX-License-Identifier: Apache-2.0
// core: binary16, Philox against its published test vectors, layouts, the registry; and the parts
// of the executor that need no torch: verification of graphs, plans, scratch memory.
// sources: csrc/core/schema.cpp csrc/executor/graph/*.cpp csrc/executor/run/execution_plan.cpp
// sources: csrc/executor/chain/frame_loop.cpp csrc/executor/chain/chain*.cpp csrc/executor/chain/fused_members.cpp
// sources: csrc/core/threads/*.cpp csrc/gpu/gds/support.cpp csrc/gpu/nvdec/support.cpp csrc/gpu/vendor/*.cpp
// sources: csrc/executor/chain/audio_chain.cpp
// sanitizers: address
#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "core/argument.h"
#include "core/operator.h"
#include "executor/chain/gpu_audio_chain.h"
#include "executor/chain/gpu_chain.h"
#include "executor/graph/operator_error.h"
#include "executor/run/execution_plan.h"
#include "executor/run/scratch.h"
#include "expect.h"
#include "gpu/operator.h"

namespace torchdali {

namespace gpu {
// The real function needs torch. No plan in this test has an operator on the GPU.
std::unique_ptr<Operator> make_stage(std::unique_ptr<Operator> op, const GpuOperator& /*gpu*/) {
  return op;
}
}  // namespace gpu
std::unique_ptr<Operator> make_gpu_chain(const Node& /*node*/, const OpSpec& /*spec*/) {
  return nullptr;
}
std::unique_ptr<Operator> make_gpu_audio_chain(const Node& /*node*/, const OpSpec& /*spec*/) {
  return nullptr;
}

namespace {

void half_round_trips_and_rounds_to_nearest_even() {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = Half::to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT(std::isnan(Half::to_float(Half::from_float(value))));
      continue;
    }
    EXPECT(Half::from_float(value) == bits);
    // Halfway to the next value goes to the even one, a little less or more to the nearer one.
    const uint16_t up = static_cast<uint16_t>(bits + 1);
    const float next = Half::to_float(up);
    if ((bits & 0x7fff) >= 0x7bff || std::isinf(next) || std::isnan(next)) continue;
    const float middle = (value + next) / 2;
    EXPECT(Half::from_float(middle) == (bits % 2 == 0 ? bits : up));
    EXPECT(Half::from_float(std::nextafterf(middle, value)) == bits);
    EXPECT(Half::from_float(std::nextafterf(middle, next)) == up);
  }
  EXPECT(Half::from_float(65519.f) == 0x7bff);
  EXPECT(Half::from_float(65520.f) == 0x7c00);
  EXPECT(Half::from_float(-INFINITY) == 0xfc00);
}

// Source: kat_vectors of Random123 (Salmon et al.).
void philox_gives_the_published_vectors() {
  using Block = std::array<uint32_t, 4>;
  constexpr uint32_t kAll = 0xffffffff;
  EXPECT(
      (philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT((philox4x32({kAll, kAll, kAll, kAll}, {kAll, kAll}) ==
          Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT((philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

void draws_stay_in_their_range() {
  std::set<int64_t> seen;
  double sum = 0, squares = 0;
  constexpr int kSamples = 4000;
  for (uint64_t sample = 0; sample < kSamples; ++sample) {
    RandomStream r(42, sample);
    const int64_t i = r.uniform_int(-3, 3);
    EXPECT(i >= -3 && i <= 3);
    seen.insert(i);
    const float u = r.uniform(2.f, 5.f);
    EXPECT(u >= 2.f && u < 5.f);
    EXPECT(r.uniform(1.f, 1.f) == 1.f);
    const double n = r.normal();
    sum += n;
    squares += n * n;
    EXPECT(RandomStream(42, sample).next_u64() == RandomStream(42, sample).next_u64());
    EXPECT(RandomStream(42, sample).next_u64() != RandomStream(43, sample).next_u64());
  }
  EXPECT(seen.size() == 7);
  EXPECT(std::abs(sum / kSamples) < 0.06 && std::abs(squares / kSamples - 1) < 0.1);
  EXPECT(RandomStream(1, 1).uniform_int(INT64_MIN, INT64_MAX) != 0);
}

void layouts_and_shapes_refuse_what_does_not_fit() {
  EXPECT(Layout("HWC").find('C') == 2 && Layout("HWC").find('D') == -1);
  EXPECT(Shape({2, 3, 4}).volume() == 24 && Shape().volume() == 1 && Shape({3, 0}).volume() == 0);
  EXPECT(Shape({2, 3}).str() == "[2, 3]");
  EXPECT_THROW(Error, Layout("ABCDEFGHIJKLMNOPQ"), EXPECT(e.kind() == ErrorKind::kLayout));
  Shape s;
  for (int i = 0; i < kMaxDims; ++i) s.push_back(1);
  EXPECT_THROW(Error, s.push_back(1), EXPECT(e.kind() == ErrorKind::kValue));
}

void tensors_beyond_all_memory_are_refused_even_without_elements() {
  const auto bytes = [](std::initializer_list<int64_t> extents) {
    return checked_size_bytes(
        {.data = nullptr, .dtype = DType::kInt32, .shape = extents, .layout = {}});
  };
  EXPECT(bytes({}) == 4 && bytes({2, 3}) == 24 && bytes({int64_t{1} << 44}) == size_t{1} << 46);
  EXPECT(bytes({int64_t{1} << 44, 0}) == 0 && bytes({0}) == 0);
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THROW(Error, bytes({(int64_t{1} << 44) + 1}), EXPECT(e.kind() == ErrorKind::kRuntime));
  EXPECT_THROW(Error, bytes({huge, huge, 0}), EXPECT(e.kind() == ErrorKind::kRuntime));
  EXPECT_THROW(Error, bytes({0, huge, huge}), EXPECT(e.kind() == ErrorKind::kRuntime));
}

class Nothing final : public Operator {
 public:
  explicit Nothing(const OpSpec& spec) : factor_(spec, "factor"), weights_(spec, "weights") {
    TORCHDALI_CHECK(spec.get<int>("count") >= 0, "`count` must not be negative");
  }
  void run(SampleContext&) const override {}

 private:
  Arg<float> factor_;
  ListArg<float> weights_;
};

TORCHDALI_OPERATOR("test.make")
    .doc("Makes a value.")
    .output("out", "It.")
    .arg("count", 1, "How many.")
    .arg("factor", 1.f, "x", Arity::kPerSample)
    .optional_arg("weights", ArgType::kFloatVec, "w", Arity::kPerSample)
    .cpu<Nothing>();
TORCHDALI_OPERATOR("test.use")
    .doc("Uses a value.")
    .input("data", "It.")
    .output("out", "It.")
    .num_outputs([](const OpSpec& spec) { return spec.get<int>("count"); })
    .arg("count", 1, "Outputs.")
    .arg("factor", 2.f, "x", Arity::kPerSample)
    .arg("weights", std::vector<float>{1.f, 2.f}, "w", Arity::kPerSample)
    .required_arg("mode", ArgType::kString, "How.")
    .cpu<Nothing>();

Node node(const char* op, std::vector<Edge> inputs = {}) {
  Node n;
  n.schema = find_schema(op);
  n.name = op;
  n.inputs = std::move(inputs);
  n.location = "train.py:1";
  if (n.schema->find_arg("mode") != nullptr) n.args["mode"] = std::string("fast");
  return n;
}

void argument_values_convert_or_say_why_not() {
  OpSpec spec;
  spec.schema = find_schema("test.use");
  EXPECT(spec.get<float>("factor") == 2.f && spec.get<int64_t>("count") == 1);
  EXPECT(spec.get<std::vector<float>>("weights").size() == 2 && !spec.has("weights") &&
         spec.defined("weights"));
  spec.constants["weights"] = int64_t{7};
  EXPECT(spec.get<std::vector<double>>("weights") == std::vector<double>{7.0});
  spec.constants["count"] = std::string("many");
  EXPECT_THROW(Error, spec.get<int>("count"), EXPECT(e.kind() == ErrorKind::kType));
  spec.constants["count"] = int64_t{1} << 40;
  EXPECT_THROW(Error, spec.get<int>("count"), EXPECT(e.kind() == ErrorKind::kValue));
}

void graphs_with_mistakes_are_refused_with_the_users_line() {
  Graph no_input{{node("test.use")}, {{0, 0}}};
  EXPECT_THROW(OperatorError, verify(no_input),
               EXPECT(e.op == "test.use" && e.location == "train.py:1"));
  Graph no_such_output{{node("test.make"), node("test.use", {{0, 1}})}, {{1, 0}}};
  EXPECT_THROW(OperatorError, verify(no_such_output), EXPECT(e.op == "test.use"));
  Graph unknown_argument{{node("test.make")}, {{0, 0}}};
  unknown_argument.nodes[0].args["color"] = int64_t{1};
  EXPECT_THROW(OperatorError, verify(unknown_argument), EXPECT(e.kind() == ErrorKind::kType));
  Graph constant_only{{node("test.make"), node("test.use", {{0, 0}})}, {{1, 0}}};
  constant_only.nodes[1].argument_inputs["count"] = {0, 0};
  EXPECT_THROW(OperatorError, verify(constant_only), EXPECT(e.kind() == ErrorKind::kType));
  Graph missing{{node("test.make"), node("test.use", {{0, 0}})}, {{1, 0}}};
  missing.nodes[1].args.clear();
  EXPECT_THROW(OperatorError, verify(missing),
               EXPECT(e.message().find("`mode`") != std::string::npos));
  Graph refused_by_operator{{node("test.make")}, {{0, 0}}};
  refused_by_operator.nodes[0].args["count"] = int64_t{-1};
  EXPECT_THROW(OperatorError, make_execution_plan(refused_by_operator, 1, 1),
               EXPECT(e.op == "test.make"));
}

void plans_release_each_value_after_its_last_use() {
  Graph graph{{node("test.make"), node("test.use", {{0, 0}}), node("test.use", {{1, 0}})},
              {{2, 0}, {1, 0}, {2, 0}}};
  graph.nodes[2].argument_inputs["factor"] = {0, 0};
  graph.nodes[1].args["count"] = int64_t{2};
  const ExecutionPlan plan = make_execution_plan(graph, 4, 1);
  EXPECT(plan.num_slots == 4 && plan.num_batches == 2);
  EXPECT(plan.outputs.size() == 3 && plan.outputs[0].batch == 0 && plan.outputs[1].batch == 1 &&
         plan.outputs[2].batch == 0);
  EXPECT(plan.steps[0].last_uses.empty());                   // an argument of the last step
  EXPECT((plan.steps[1].last_uses == std::vector<int>{2}));  // its second output: unused
  EXPECT((plan.steps[2].last_uses == std::vector<int>{0, 1, 3}));
  EXPECT((plan.steps[1].batches == std::vector<int>{1, -1}));
  EXPECT((plan.steps[2].inputs == std::vector<int>{1} &&
          plan.steps[2].arguments == std::vector<int>{0}));
}

void scratch_blocks_are_reused_and_stale_ones_given_back() {
  ScratchPool pool;
  auto* a = pool.acquire(100000);
  auto* b = pool.acquire(10);
  EXPECT(reinterpret_cast<uintptr_t>(a->memory.get()) % 64 == 0 && a->size >= 100000 && a != b);
  std::memset(a->memory.get(), 1, 100000);
  pool.release(a);
  EXPECT(pool.acquire(90000) == a);
  EXPECT(pool.acquire(0) != nullptr);
  ++a->users;
  pool.release(a);
  EXPECT(pool.acquire(90000) != a);  // still has a user
  pool.release(a);
  // What was not asked for in a while is given back; what is in use stays.
  auto* giant = pool.acquire(size_t{65} << 20);
  constexpr size_t kHeld = size_t{9} << 20;
  auto* held = pool.acquire(kHeld);
  std::memset(held->memory.get(), 7, kHeld);
  pool.release(giant);
  for (int i = 0; i < 10000; ++i) pool.release(pool.acquire(10));
  EXPECT(held->memory[kHeld - 1] == std::byte{7});
  EXPECT(pool.size_bytes() < size_t{20} << 20);
}

}  // namespace
}  // namespace torchdali

int main() {
  using namespace torchdali;
  half_round_trips_and_rounds_to_nearest_even();
  philox_gives_the_published_vectors();
  draws_stay_in_their_range();
  layouts_and_shapes_refuse_what_does_not_fit();
  argument_values_convert_or_say_why_not();
  graphs_with_mistakes_are_refused_with_the_users_line();
  plans_release_each_value_after_its_last_use();
  scratch_blocks_are_reused_and_stale_ones_given_back();
  tensors_beyond_all_memory_are_refused_even_without_elements();
  std::puts("core_test: ok");
}
