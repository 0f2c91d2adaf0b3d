// SPDX-License-Identifier: Apache-2.0
// An expression on data nodes: a list of steps, each an operation on inputs, results of earlier
// steps and constants. Python records one step per operator, the engine fuses them, and
// ops/math/arithmetic.cpp evaluates them. docs/design/expressions.md.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace torchdali {

struct ExpressionOperand {
  enum class Kind : uint8_t { kInput, kStep, kConstant };
  Kind kind = Kind::kInput;
  DType dtype = DType::kNone;  // of a constant
  int index = 0;               // of the input or the step
  uint64_t bits = 0;           // a constant's value, from the first byte on
  bool operator==(const ExpressionOperand&) const = default;
};

struct ExpressionStep {
  std::string operation;  // by DALI's name, such as "add"
  std::vector<ExpressionOperand> operands;
  bool operator==(const ExpressionStep&) const = default;
};

using Expression = std::vector<ExpressionStep>;

// `value` as a constant of type `dtype`, converted as C++ converts it: 300 becomes 44 in uint8.
template <class T>
ExpressionOperand constant_operand(DType dtype, T value) {
  ExpressionOperand operand{.kind = ExpressionOperand::Kind::kConstant, .dtype = dtype};
  dispatch_dtype(dtype, [&]<class To>() {
    To stored;
    if constexpr (std::is_same_v<To, bool>) stored = value != 0;
    else if constexpr (std::is_same_v<To, Half>) stored = Half(static_cast<float>(value));
    else stored = static_cast<To>(value);
    std::memcpy(&operand.bits, &stored, sizeof stored);
  });
  return operand;
}

}  // namespace torchdali
