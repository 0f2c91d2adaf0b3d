// SPDX-License-Identifier: Apache-2.0
// The steps of an expression, checked, with the rule of each operation.
#pragma once

#include <array>
#include <vector>

#include "core/expression.h"
#include "ops/math/arithmetic_rules.h"

namespace torchdali {

struct ArithmeticStep {
  const ArithmeticRule* rule = nullptr;
  std::array<ExpressionOperand, kMaxOperands> operands;
};

// A step uses results of earlier steps only. The last step is the result.
struct ArithmeticProgram {
  std::vector<ArithmeticStep> steps;
};

// Raises kValue if `expression` is not valid for `num_inputs` inputs.
ArithmeticProgram make_arithmetic_program(const Expression& expression, int num_inputs);

}  // namespace torchdali
