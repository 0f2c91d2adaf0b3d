// SPDX-License-Identifier: Apache-2.0
#include "ops/math/arithmetic_rules.h"

#include <algorithm>

namespace torchdali {
namespace {

using Kind = ArithmeticKind;
using Op = kernels::ArithmeticOp;

constexpr ArithmeticRule kRules[] = {
    {"add", "+", 2, Kind::kNumbers, Op::kAdd},
    {"sub", "-", 2, Kind::kNumbers, Op::kSub},
    {"mul", "*", 2, Kind::kMultiply, Op::kMul},
    {"div", "//", 2, Kind::kNumbers, Op::kDiv},
    {"fdiv", "/", 2, Kind::kFloating, Op::kDiv},
    {"mod", "%", 2, Kind::kNumbers, Op::kMod},
    {"pow", "**", 2, Kind::kNumbers, Op::kPow},
    {"fpow", "math.fpow", 2, Kind::kFloating, Op::kPow},
    {"atan2", "math.atan2", 2, Kind::kFloating, Op::kAtan2},
    {"min", "math.min", 2, Kind::kNumbers, Op::kMin},
    {"max", "math.max", 2, Kind::kNumbers, Op::kMax},
    {"bitand", "&", 2, Kind::kInteger, Op::kBitAnd},
    {"bitor", "|", 2, Kind::kInteger, Op::kBitOr},
    {"bitxor", "^", 2, Kind::kInteger, Op::kBitXor},
    {"shl", "<<", 2, Kind::kShift, Op::kShl},
    {"shr", ">>", 2, Kind::kShift, Op::kShr},
    {"eq", "==", 2, Kind::kComparison, Op::kEq},
    {"neq", "!=", 2, Kind::kComparison, Op::kNeq},
    {"lt", "<", 2, Kind::kComparison, Op::kLt},
    {"leq", "<=", 2, Kind::kComparison, Op::kLeq},
    {"gt", ">", 2, Kind::kComparison, Op::kGt},
    {"geq", ">=", 2, Kind::kComparison, Op::kGeq},
    {"clamp", "math.clamp", 3, Kind::kNumbers, Op::kClamp},
    {"minus", "-", 1, Kind::kNumbers, Op::kMinus},
    {"bitnot", "~", 1, Kind::kInteger, Op::kBitNot},
    {"abs", "abs", 1, Kind::kNumbers, Op::kAbs},
    {"fabs", "math.fabs", 1, Kind::kFloating, Op::kFabs},
    {"sqrt", "math.sqrt", 1, Kind::kFloating, Op::kSqrt},
    {"rsqrt", "math.rsqrt", 1, Kind::kFloating, Op::kRsqrt},
    {"cbrt", "math.cbrt", 1, Kind::kFloating, Op::kCbrt},
    {"exp", "math.exp", 1, Kind::kFloating, Op::kExp},
    {"log", "math.log", 1, Kind::kFloating, Op::kLog},
    {"log2", "math.log2", 1, Kind::kFloating, Op::kLog2},
    {"log10", "math.log10", 1, Kind::kFloating, Op::kLog10},
    {"floor", "math.floor", 1, Kind::kFloating, Op::kFloor},
    {"ceil", "math.ceil", 1, Kind::kFloating, Op::kCeil},
    {"sin", "math.sin", 1, Kind::kFloating, Op::kSin},
    {"cos", "math.cos", 1, Kind::kFloating, Op::kCos},
    {"tan", "math.tan", 1, Kind::kFloating, Op::kTan},
    {"asin", "math.asin", 1, Kind::kFloating, Op::kAsin},
    {"acos", "math.acos", 1, Kind::kFloating, Op::kAcos},
    {"atan", "math.atan", 1, Kind::kFloating, Op::kAtan},
    {"sinh", "math.sinh", 1, Kind::kFloating, Op::kSinh},
    {"cosh", "math.cosh", 1, Kind::kFloating, Op::kCosh},
    {"tanh", "math.tanh", 1, Kind::kFloating, Op::kTanh},
    {"asinh", "math.asinh", 1, Kind::kFloating, Op::kAsinh},
    {"acosh", "math.acosh", 1, Kind::kFloating, Op::kAcosh},
    {"atanh", "math.atanh", 1, Kind::kFloating, Op::kAtanh},
};

bool is_signed_integer(DType t) { return t >= DType::kInt8 && t <= DType::kInt64; }

DType signed_integer(int64_t size) {
  return size == 1   ? DType::kInt8
         : size == 2 ? DType::kInt16
         : size == 4 ? DType::kInt32
                     : DType::kInt64;
}

// Floating types have precedence over integers of any size. An unsigned and a signed integer are
// promoted to the signed type that can represent both, at most int64. Bool is promoted to any other
// type.
DType promote(DType a, DType b) {
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    return itemsize(a) > itemsize(b) ? a : b;
  }
  if (is_signed_integer(a) == is_signed_integer(b)) return itemsize(a) > itemsize(b) ? a : b;
  const DType with = is_signed_integer(a) ? a : b, without = is_signed_integer(a) ? b : a;
  return signed_integer(std::max(itemsize(with), 2 * itemsize(without)));
}

// The types of the loops: float16 is computed in float, bool as a byte.
DType computed_in(DType t) {
  return t == DType::kFloat16 ? DType::kFloat : t == DType::kBool ? DType::kUInt8 : t;
}

Op turned_round(Op op) {
  switch (op) {
    case Op::kLt: return Op::kGt;
    case Op::kLeq: return Op::kGeq;
    case Op::kGt: return Op::kLt;
    case Op::kGeq: return Op::kLeq;
    default: return op;
  }
}

void check_types(const ArithmeticRule& rule, DType promoted) {
  const bool integers_only = rule.kind == Kind::kInteger || rule.kind == Kind::kShift;
  TORCHDALI_CHECK_KIND(kType, !integers_only || !is_floating(promoted), "`", rule.symbol,
                       "` takes integers, got ", dtype_name(promoted),
                       to_fix("fn.cast the operand to an integer type"));
  const bool takes_booleans =
      rule.kind == Kind::kMultiply || rule.kind == Kind::kInteger || rule.kind == Kind::kComparison;
  TORCHDALI_CHECK_KIND(kType, takes_booleans || promoted != DType::kBool, "`", rule.symbol,
                       "` does not take booleans alone",
                       to_fix("use `&`, `|`, `^` or `~`, or fn.cast an operand to a number"));
}

}  // namespace

const ArithmeticRule* find_arithmetic_rule(std::string_view name) {
  for (const ArithmeticRule& rule : kRules)
    if (rule.name == name) return &rule;
  return nullptr;
}

ArithmeticTypes arithmetic_types(const ArithmeticRule& rule, std::span<const DType> operands) {
  DType promoted = operands[0];
  for (DType t : operands.subspan(1)) promoted = promote(promoted, t);
  check_types(rule, promoted);
  if (rule.kind == Kind::kFloating && !is_floating(promoted)) promoted = DType::kFloat;
  ArithmeticTypes types;
  types.result = promoted;
  types.computed = computed_in(promoted);
  types.op = rule.op;
  std::fill_n(types.operands, kMaxOperands, types.computed);
  if (rule.kind == Kind::kMultiply && promoted == DType::kBool) types.op = Op::kBitAnd;
  if (rule.op == Op::kBitNot && promoted == DType::kBool) types.op = Op::kLogicalNot;
  if (rule.kind == Kind::kComparison) {
    types.result = types.computed = DType::kBool;
    // The promoted type can represent all values of both, except for this pair.
    const auto is_pair = [&](int u, int s) {
      return operands[u] == DType::kUInt64 && is_signed_integer(operands[s]);
    };
    types.mixed_signs = is_pair(0, 1) || is_pair(1, 0);
    types.swapped = is_pair(1, 0);
    if (types.swapped) types.op = turned_round(types.op);
    if (types.mixed_signs) types.operands[0] = DType::kUInt64;
  }
  return types;
}

void broadcast_operand(const ArithmeticRule& rule, SampleView& view, const SampleView& operand) {
  const Shape &a = view.shape, &b = operand.shape;
  Shape shape = a.ndim() >= b.ndim() ? a : b;
  const Shape& other = a.ndim() >= b.ndim() ? b : a;
  for (int i = 1; i <= other.ndim(); ++i) {
    int64_t& extent = shape[shape.ndim() - i];
    const int64_t e = other[other.ndim() - i];
    TORCHDALI_CHECK(extent == e || extent == 1 || e == 1, "operands of `", rule.symbol,
                    "` have shapes ", a, " and ", b, ", which cannot be broadcast together",
                    to_fix("extents, counted from the last axis, have to be equal or 1"));
    if (extent == 1) extent = e;
  }
  const std::string_view l = view.layout.str(), r = operand.layout.str();
  TORCHDALI_CHECK_KIND(kLayout, l.ends_with(r) || r.ends_with(l), "operands of `", rule.symbol,
                       "` have layouts ", view.layout, " and ", operand.layout,
                       "; they have to be equal, or one the end of the other",
                       to_fix("transpose one, or take its layout away"));
  view.shape = shape;
  if (r.size() > l.size()) view.layout = operand.layout;
}

}  // namespace torchdali
