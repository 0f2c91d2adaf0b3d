// SPDX-License-Identifier: Apache-2.0
// The steps of an expression, read from the argument of the operator: "sub &0 127.5:float32" is an
// operation, input 0 and a constant with its type; "mul %0 &1" takes the result of step 0.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/view.h"
#include "ops/math/arithmetic_rules.h"

namespace torchdali {

struct ArithmeticOperand {
  enum class Kind : uint8_t { kInput, kConstant, kStep };
  Kind kind = Kind::kInput;
  int index = 0;
};

struct ArithmeticStep {
  const ArithmeticRule* rule = nullptr;
  std::array<ArithmeticOperand, kMaxOperands> operands;
};

struct ArithmeticProgram {
  struct Constant {
    uint64_t bytes = 0;
    DType dtype = DType::kNone;
  };
  std::vector<ArithmeticStep> steps;  // a step takes results of those before it
  std::vector<Constant> constants;
};

// Raises kValue where the text is no program over `num_inputs` inputs.
ArithmeticProgram parse_arithmetic(const std::vector<std::string>& steps, int num_inputs);

}  // namespace torchdali
