// SPDX-License-Identifier: Apache-2.0
// Loops of expressions on arrays: one operation on operands of one type, and the conversions for
// type promotion. ops/math/arithmetic_rules.h has the types that expressions accept.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace torchdali::kernels {

enum class ArithmeticOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,  // integers: the quotient is truncated; x / 0 is 0
  kMod,  // sign of the dividend; integers: x % 0 is 0
  kPow,  // integers: wraps; 0 for negative exponents
  kMin,  // a < b ? a : b, also for NaN
  kMax,  // a > b ? a : b
  kAtan2,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShl,  // by the width or more, or by a negative number: 0
  kShr,  // likewise 0, or -1 for negative values
  kEq,
  kNeq,
  kLt,
  kLeq,
  kGt,
  kGeq,
  kClamp,  // min(max(value, lo), hi): hi wins
  kMinus,
  kBitNot,
  kLogicalNot,
  kAbs,
  kFabs,
  kSqrt,
  kRsqrt,
  kCbrt,
  kExp,
  kLog,
  kLog2,
  kLog10,
  kFloor,
  kCeil,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
};

// `count` elements; `out` does not overlap with operands. Only the operands of the operation are
// read.
using ArithmeticFn = void (*)(void* out, const void* a, const void* b, const void* c,
                              int64_t count);

// The loops of one operation on one type. scalar_a and scalar_b are loops for an operand that is a
// single number; they may be null.
struct ArithmeticKernel {
  ArithmeticFn arrays = nullptr;
  ArithmeticFn scalar_a = nullptr;
  ArithmeticFn scalar_b = nullptr;
};

// `type` is an integer type, float or float64, of all operands. The result has the same type, or
// bool for comparisons. Returns an empty kernel if the operation does not support the type.
ArithmeticKernel arithmetic_kernel(ArithmeticOp op, DType type);
// Comparison of a uint64 with an int64 by value.
ArithmeticKernel mixed_sign_comparison(ArithmeticOp op);

// Conversions for type promotion: to float and float64 from every type, from float to float16, and
// between integers by wrapping around. Null if the bytes do not change.
using ArithmeticConvertFn = void (*)(void* out, const void* in, int64_t count);
ArithmeticConvertFn arithmetic_converter(DType to, DType from);

}  // namespace torchdali::kernels
