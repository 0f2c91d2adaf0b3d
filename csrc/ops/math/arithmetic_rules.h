// SPDX-License-Identifier: Apache-2.0
// The semantics of expressions: the operations by DALI's names, their types of operands,
// computation and results, and the shapes and layouts of results. Source: the behavior of DALI
// 1.35; see docs/design/expressions.md for differences.
#pragma once

#include <span>
#include <string_view>

#include "core/view.h"
#include "kernels/math/arithmetic.h"

namespace torchdali {

// The types of operands and results of an operation.
enum class ArithmeticKind : uint8_t {
  kNumbers,     // not of booleans alone; the promoted type
  kMultiply,    // likewise, but of two booleans it is `and`
  kInteger,     // no floating types; the promoted type
  kShift,       // likewise, not of booleans alone
  kComparison,  // anything; bool
  kFloating,    // not of booleans alone; float if there was no floating type
};

struct ArithmeticRule {
  const char* name;    // DALI's
  const char* symbol;  // as users write it
  int num_operands;
  ArithmeticKind kind;
  kernels::ArithmeticOp op;
};

// Returns nullptr if there is no operation of that name.
const ArithmeticRule* find_arithmetic_rule(std::string_view name);

inline constexpr int kMaxOperands = 3;

// How to compute an operation on operands of given types: convert operand i to `operands[i]`, pass
// it to `kernel`, whose result has type `computed`, and convert that to `result`.
struct ArithmeticTypes {
  DType result = DType::kNone;
  DType computed = DType::kNone;
  DType operands[kMaxOperands] = {};
  kernels::ArithmeticOp op = {};
  bool mixed_signs = false;  // compares uint64 with int64
  bool swapped = false;      // operand 1 goes first
};
// Raises kType if the operation does not support the types.
ArithmeticTypes arithmetic_types(const ArithmeticRule& rule, std::span<const DType> operands);

// Shape and layout of the result; `view` has those of the operands so far. Raises kValue if shapes
// cannot be broadcast together, kLayout if neither layout is a suffix of the other.
void broadcast_operand(const ArithmeticRule& rule, SampleView& view, const SampleView& operand);

}  // namespace torchdali
