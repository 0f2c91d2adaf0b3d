// SPDX-License-Identifier: Apache-2.0
// What expressions mean: the operations by DALI's names, the types that they take, compute in and
// give, the shapes and layouts of results. Source: what DALI 1.35 does, found by running it; see
// docs/design/expressions.md for what it does not have.
#pragma once

#include <span>
#include <string_view>

#include "core/view.h"
#include "kernels/math/arithmetic.h"

namespace torchdali {

// Which types an operation takes, and what comes out.
enum class ArithmeticKind : uint8_t {
  kNumbers,     // not of booleans alone; the promoted type
  kMultiply,    // likewise, but of two booleans it is `and`
  kInteger,     // no floating types; the promoted type
  kShift,       // likewise, not of booleans alone
  kComparison,  // anything; bool
  kFloating,    // not of booleans alone; float where there was no floating type
};

struct ArithmeticRule {
  const char* name;    // DALI's
  const char* symbol;  // as users write it
  int num_operands;
  ArithmeticKind kind;
  kernels::ArithmeticOp op;
};

// nullptr where there is none of that name.
const ArithmeticRule* find_arithmetic_rule(std::string_view name);

inline constexpr int kMaxOperands = 3;

// How to compute one operation on operands of given types: convert operand i to `operands[i]` and
// hand it to `kernel`, which gives `computed`; convert that to `result`.
struct ArithmeticTypes {
  DType result = DType::kNone;
  DType computed = DType::kNone;
  DType operands[kMaxOperands] = {};
  kernels::ArithmeticOp op = {};
  bool mixed_signs = false;  // compares uint64 with int64
  bool swapped = false;      // operand 1 goes first
};
// Raises kType where the operation does not take the types.
ArithmeticTypes arithmetic_types(const ArithmeticRule& rule, std::span<const DType> operands);

// Shape and layout of the result; `view` has those of the operands so far. Raises kValue where
// shapes cannot be broadcast together, kLayout where no layout is a suffix of the other.
void broadcast_operand(const ArithmeticRule& rule, SampleView& view, const SampleView& operand);

}  // namespace torchdali
