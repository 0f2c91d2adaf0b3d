// SPDX-License-Identifier: Apache-2.0
#include "ops/math/arithmetic_program.h"

#include <algorithm>

namespace torchdali {
namespace {

void check_index(const ExpressionOperand& operand, size_t end) {
  TORCHDALI_CHECK(operand.index >= 0 && static_cast<size_t>(operand.index) < end, "operand index ",
                  operand.index, " out of range [0, ", end, ")");
}

}  // namespace

ArithmeticProgram make_arithmetic_program(const Expression& expression, int num_inputs) {
  ArithmeticProgram program;
  for (const ExpressionStep& from : expression) {
    ArithmeticStep step{.rule = find_arithmetic_rule(from.operation), .operands = {}};
    TORCHDALI_CHECK(step.rule != nullptr, "there is no operation \"", from.operation, "\"");
    TORCHDALI_CHECK(std::ssize(from.operands) == step.rule->num_operands, "operation \"",
                    from.operation, "\" takes ", step.rule->num_operands, " operands, got ",
                    from.operands.size());
    for (const ExpressionOperand& operand : from.operands) {
      if (operand.kind == ExpressionOperand::Kind::kInput)
        check_index(operand, static_cast<size_t>(num_inputs));
      if (operand.kind == ExpressionOperand::Kind::kStep)
        check_index(operand, program.steps.size());
    }
    std::copy(from.operands.begin(), from.operands.end(), step.operands.begin());
    program.steps.push_back(step);
  }
  TORCHDALI_CHECK(!program.steps.empty(), "an expression has at least one step");
  return program;
}

}  // namespace torchdali
