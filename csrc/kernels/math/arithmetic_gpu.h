// SPDX-License-Identifier: Apache-2.0
// Expressions on the GPU: a thread interprets a program for one element of the result. Values are
// 64 bits wide: integers are extended from their type, floating-point numbers stored as their
// bytes. Integers are computed in 64 bits and then truncated to their type, which is what the CPU's
// loops over narrow types compute.
#pragma once

#include <bit>

#include "kernels/gpu/kernel.h"
#include "kernels/math/arithmetic.h"
#include "kernels/math/arithmetic_scalar.h"

namespace torchdali::gpu {

// One operand of an instruction: an input, a constant, or the result of an earlier instruction.
struct ArithmeticSource {
  enum class Kind : uint8_t { kInput, kConstant, kResult };
  Kind kind = Kind::kInput;
  uint8_t index = 0;
  DType dtype = DType::kNone;
};
// Registers of 64 bits for results, which instructions reuse.
inline constexpr int kMaxArithmeticResults = 64;
inline constexpr int kMaxArithmeticSources = 256;  // inputs and constants
// Converts operand i to `operands[i]`, computes, and converts to `result`.
struct ArithmeticInstruction {
  kernels::ArithmeticOp op = {};
  bool mixed_signs = false;
  DType result = DType::kNone;
  DType operands[3] = {DType::kNone, DType::kNone, DType::kNone};
  uint8_t num_operands = 0;
  uint8_t to = 0;  // the register of the result
  ArithmeticSource sources[3] = {};
};
struct ArithmeticInput {
  const void* data = nullptr;
  int64_t stride[kMaxAxes] = {};  // in elements; 0 where it repeats
};
// An expression: the last instruction's result is stored in the dense output.
struct ArithmeticTask : TaskBase {
  int ndim = 0;
  int num_instructions = 0;
  int64_t extent[kMaxAxes] = {};
  BlobOffset instructions = 0, inputs = 0;
  BlobOffset constants = 0;  // uint64: the bytes
};
struct ArithmeticKernel : Kernel<ArithmeticTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const auto* program = list<ArithmeticInstruction>(task.instructions);
    int64_t index[kMaxAxes];
    Unravel unravel(i);
    for (int a = task.ndim - 1; a > 0; --a) index[a] = unravel.axis(task.extent[a]);
    index[0] = unravel.rest();

    uint64_t results[kMaxArithmeticResults];
    uint64_t value = 0;
    for (int k = 0; k < task.num_instructions; ++k) {
      const ArithmeticInstruction& step = program[k];
      uint64_t operands[3] = {};
      for (int j = 0; j < step.num_operands; ++j) {
        const ArithmeticSource& source = step.sources[j];
        uint64_t bits;
        if (source.kind == ArithmeticSource::Kind::kInput) {
          const auto& input = list<ArithmeticInput>(task.inputs)[source.index];
          int64_t at = 0;
          for (int a = 0; a < task.ndim; ++a) at += index[a] * input.stride[a];
          bits = load(input.data, source.dtype, at);
        } else if (source.kind == ArithmeticSource::Kind::kConstant) {
          bits = load(list<uint64_t>(task.constants) + source.index, source.dtype, 0);
        } else {
          bits = results[source.index];
        }
        operands[j] = convert(bits, source.dtype, step.operands[j]);
      }
      value = compute(step, operands[0], operands[1], operands[2]);
      if (step.result == DType::kFloat16) value = Half(floating<float>(value)).bits;
      else if (!is_floating(step.result)) value = narrow(value, step.result);
      results[step.to] = value;
    }
    store_bytes(task.out, size_of(program[task.num_instructions - 1].result), i, value);
  }

 private:
  using Op = kernels::ArithmeticOp;

  template <class T>
  static constexpr uint64_t bits_of(T x) {
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<uint32_t>(x);
    else if constexpr (std::is_same_v<T, double>) return std::bit_cast<uint64_t>(x);
    else if constexpr (std::is_same_v<T, Half>) return x.bits;
    else return static_cast<uint64_t>(x);
  }
  template <class T>
  static constexpr T floating(uint64_t bits) {
    if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    else return std::bit_cast<double>(bits);
  }
  static constexpr bool has_sign(DType t) { return t >= DType::kInt8 && t <= DType::kInt64; }
  // An integer of a type, from its low bits.
  static constexpr uint64_t narrow(uint64_t bits, DType t) {
    const int unused = 64 - 8 * static_cast<int>(itemsize(t));
    const uint64_t high = bits << unused;
    return has_sign(t) ? static_cast<uint64_t>(static_cast<int64_t>(high) >> unused)
                       : high >> unused;
  }
  template <class To>
  static constexpr To to_floating(uint64_t bits, DType from) {
    if (from == DType::kFloat) return static_cast<To>(floating<float>(bits));
    if (from == DType::kFloat64) return static_cast<To>(floating<double>(bits));
    if (from == DType::kFloat16)
      return static_cast<To>(Half::to_float(static_cast<uint16_t>(bits)));
    return has_sign(from) ? static_cast<To>(static_cast<int64_t>(bits)) : static_cast<To>(bits);
  }
  static constexpr uint64_t convert(uint64_t bits, DType from, DType to) {
    if (from == to) return bits;
    if (to == DType::kFloat) return bits_of(to_floating<float>(bits, from));
    if (to == DType::kFloat64) return bits_of(to_floating<double>(bits, from));
    return narrow(bits, to);
  }
  static TORCHDALI_HOST_DEVICE uint64_t load(const void* data, DType dtype, int64_t i) {
    uint64_t bits = 0;
    with_type(dtype, [&]<class T>() { bits = bits_of(static_cast<const T*>(data)[i]); });
    return bits;
  }

  static TORCHDALI_HOST_DEVICE uint64_t compute(const ArithmeticInstruction& step, uint64_t a,
                                                uint64_t b, uint64_t c) {
    if (step.mixed_signs) return compare_signs(step.op, a, static_cast<int64_t>(b));
    const DType t = step.operands[0];
    if (t == DType::kFloat)
      return of_floating<float>(step.op, floating<float>(a), floating<float>(b),
                                floating<float>(c));
    if (t == DType::kFloat64)
      return of_floating<double>(step.op, floating<double>(a), floating<double>(b),
                                 floating<double>(c));
    if (step.op == Op::kShl || step.op == Op::kShr) return shift(step.op, t, a, b);
    if (has_sign(t))
      return of_integers<int64_t>(step.op, static_cast<int64_t>(a), static_cast<int64_t>(b),
                                  static_cast<int64_t>(c));
    return of_integers<uint64_t>(step.op, a, b, c);
  }

  static TORCHDALI_HOST_DEVICE uint64_t compare_signs(Op op, uint64_t a, int64_t b) {
    using namespace kernels::scalar;
    switch (op) {
      case Op::kEq: return CmpEqual::run(a, b);
      case Op::kNeq: return CmpNotEqual::run(a, b);
      case Op::kLt: return CmpLess::run(a, b);
      case Op::kLeq: return CmpLessEqual::run(a, b);
      case Op::kGt: return CmpGreater::run(a, b);
      default: return CmpGreaterEqual::run(a, b);
    }
  }
  // Which amounts are valid depends on the width.
  static TORCHDALI_HOST_DEVICE uint64_t shift(Op op, DType t, uint64_t a, uint64_t b) {
    uint64_t bits = 0;
    with_type(t, [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        using Unsigned = std::make_unsigned_t<T>;
        bits = op == Op::kShl
                   ? bits_of(kernels::scalar::Shl::run(static_cast<Unsigned>(a),
                                                       static_cast<Unsigned>(b)))
                   : bits_of(kernels::scalar::Shr::run(static_cast<T>(a), static_cast<T>(b)));
      }
    });
    return bits;
  }

  // Operations on every type.
  template <class T>
  static TORCHDALI_HOST_DEVICE uint64_t of_any(Op op, T a, T b, T c) {
    using namespace kernels::scalar;
    switch (op) {
      case Op::kDiv: return bits_of(Div::run(a, b));
      case Op::kMod: return bits_of(Mod::run(a, b));
      case Op::kPow: return bits_of(Pow::run(a, b));
      case Op::kMin: return bits_of(Min::run(a, b));
      case Op::kMax: return bits_of(Max::run(a, b));
      case Op::kEq: return Eq::run(a, b);
      case Op::kNeq: return Neq::run(a, b);
      case Op::kLt: return Lt::run(a, b);
      case Op::kLeq: return Leq::run(a, b);
      case Op::kGt: return Gt::run(a, b);
      case Op::kGeq: return Geq::run(a, b);
      case Op::kClamp: return bits_of(Clamp::run(a, b, c));
      case Op::kAbs: return bits_of(Abs::run(a));
      default: return 0;
    }
  }
  // In T where the sign matters, else modulo 2^64.
  template <class T>
  static TORCHDALI_HOST_DEVICE uint64_t of_integers(Op op, T a, T b, T c) {
    using namespace kernels::scalar;
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    switch (op) {
      case Op::kAdd: return Add::run(x, y);
      case Op::kSub: return Sub::run(x, y);
      case Op::kMul: return Mul::run(x, y);
      case Op::kMinus: return Minus::run(x);
      case Op::kBitAnd: return BitAnd::run(x, y);
      case Op::kBitOr: return BitOr::run(x, y);
      case Op::kBitXor: return BitXor::run(x, y);
      case Op::kBitNot: return BitNot::run(x);
      case Op::kLogicalNot: return LogicalNot::run(x);
      default: return of_any(op, a, b, c);
    }
  }
  template <class T>
  static TORCHDALI_HOST_DEVICE uint64_t of_floating(Op op, T a, T b, T c) {
    using namespace kernels::scalar;
    switch (op) {
      case Op::kAdd: return bits_of(Add::run(a, b));
      case Op::kSub: return bits_of(Sub::run(a, b));
      case Op::kMul: return bits_of(Mul::run(a, b));
      case Op::kMinus: return bits_of(Minus::run(a));
      case Op::kAtan2: return bits_of(Atan2::run(a, b));
      case Op::kFabs: return bits_of(Fabs::run(a));
      case Op::kSqrt: return bits_of(Sqrt::run(a));
      case Op::kRsqrt: return bits_of(Rsqrt::run(a));
      case Op::kCbrt: return bits_of(Cbrt::run(a));
      case Op::kExp: return bits_of(Exp::run(a));
      case Op::kLog: return bits_of(Log::run(a));
      case Op::kLog2: return bits_of(Log2::run(a));
      case Op::kLog10: return bits_of(Log10::run(a));
      case Op::kFloor: return bits_of(Floor::run(a));
      case Op::kCeil: return bits_of(Ceil::run(a));
      case Op::kSin: return bits_of(Sin::run(a));
      case Op::kCos: return bits_of(Cos::run(a));
      case Op::kTan: return bits_of(Tan::run(a));
      case Op::kAsin: return bits_of(Asin::run(a));
      case Op::kAcos: return bits_of(Acos::run(a));
      case Op::kAtan: return bits_of(Atan::run(a));
      case Op::kSinh: return bits_of(Sinh::run(a));
      case Op::kCosh: return bits_of(Cosh::run(a));
      case Op::kTanh: return bits_of(Tanh::run(a));
      case Op::kAsinh: return bits_of(Asinh::run(a));
      case Op::kAcosh: return bits_of(Acosh::run(a));
      case Op::kAtanh: return bits_of(Atanh::run(a));
      default: return of_any(op, a, b, c);
    }
  }
};
TORCHDALI_GPU_KERNEL(ArithmeticKernel)

}  // namespace torchdali::gpu
