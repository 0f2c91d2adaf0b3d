// SPDX-License-Identifier: Apache-2.0
// The operator behind expressions on data nodes: one step as the user wrote it, or the steps of a
// whole expression (executor/fuse_expressions.h). Types, shapes and layouts are settled for each
// sample; the computation is ops/arithmetic_evaluation.h.
#include "core/operator.h"
#include "ops/arithmetic_evaluation.h"

namespace torchdali {
namespace {

class Arithmetic final : public Operator {
 public:
  explicit Arithmetic(const OpSpec& spec)
      : program_(parse_arithmetic(spec.get<std::vector<std::string>>("steps"), spec.num_inputs)) {}

  void run(SampleContext& ctx) const override {
    const auto values = ctx.scratch<ArithmeticValue>(program_.steps.size());
    for (size_t i = 0; i < values.size(); ++i) {
      try {
        settle(ctx, values, static_cast<int>(i));
      } catch (Error& e) {
        if (i + 1 < values.size()) e.set_producer(static_cast<int>(i));
        throw;
      }
    }
    const SampleView& result = values.back().view;
    const SampleView& out = ctx.output(0, result.dtype, result.shape, result.layout);
    if (out.volume() > 0) evaluate(program_, ctx, values, out);
  }

 private:
  // Type, shape and layout of the result of a step.
  void settle(const SampleContext& ctx, std::span<ArithmeticValue> values, int step) const {
    const ArithmeticStep& s = program_.steps[step];
    ArithmeticValue& value = values[step] = {};
    DType dtypes[kMaxOperands];
    for (int i = 0; i < s.rule->num_operands; ++i) {
      const SampleView operand = operand_view(program_, ctx, values, s.operands[i]);
      dtypes[i] = operand.dtype;
      if (i == 0) value.view = operand;
      else broadcast_operand(*s.rule, value.view, operand);
    }
    value.types = arithmetic_types(*s.rule, {dtypes, static_cast<size_t>(s.rule->num_operands)});
    value.view.dtype = value.types.result;
    value.view.data = nullptr;
    // Of operands with more axes than the one that has the layout.
    if (value.view.layout.size() != value.view.shape.ndim()) value.view.layout = {};
    value.volume = value.view.volume();
  }

  ArithmeticProgram program_;
};

TORCHDALI_OPERATOR("arithmetic")
    .doc("Computes an expression, element by element.")
    .optional_input("first", "Any layout, any element type.")
    .optional_input("second", "What can be broadcast with the first.")
    .optional_input("third", "What can be broadcast with the others.")
    .output("result", "The shape that all operands are broadcast to.")
    .required_arg("steps", ArgType::kStringVec,
                  "The operations in order, such as [\"sub &0 127.5:float32\", \"mul %0 &1\"]: a "
                  "name and operands, which are inputs (&), results of earlier steps (%) or "
                  "constants.")
    .hidden()
    .sequences()
    .volumes()
    .cpu<Arithmetic>();

}  // namespace
}  // namespace torchdali
