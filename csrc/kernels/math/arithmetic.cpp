// SPDX-License-Identifier: Apache-2.0
// The loops of arithmetic.h that do not gain from wider instruction sets: integer division, powers,
// and functions of the C library, whose results are bit-identical to DALI's.
#include "kernels/math/arithmetic.h"

#include <type_traits>

#include "kernels/math/arithmetic_cpu.h"
#include "kernels/math/arithmetic_scalar.h"

namespace torchdali::kernels {
namespace {

using namespace scalar;

template <class T, class F>
void binary(void* out, const void* a, const void* b, const void*, int64_t count) {
  T* to = static_cast<T*>(out);
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  for (int64_t i = 0; i < count; ++i) to[i] = F::run(x[i], y[i]);
}
template <class F>
ArithmeticKernel for_numbers(DType type) {
  return dispatch_dtype(type, []<class T>() -> ArithmeticKernel {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Half>) return {};
    else return {binary<T, F>};
  });
}
template <class F>
ArithmeticKernel for_floating(DType type) {
  if (type == DType::kFloat) return {binary<float, F>};
  if (type == DType::kFloat64) return {binary<double, F>};
  return {};
}
template <class F>
ArithmeticKernel for_integers(DType type) {
  return is_floating(type) ? ArithmeticKernel{} : dispatch_dtype(type, []<class T>() {
    if constexpr (is_floating_type<T> || std::is_same_v<T, bool>) return ArithmeticKernel{};
    else return ArithmeticKernel{binary<T, F>};
  });
}

template <class T, class F>
void unary(void* out, const void* a, const void*, const void*, int64_t count) {
  T* to = static_cast<T*>(out);
  const T* x = static_cast<const T*>(a);
  for (int64_t i = 0; i < count; ++i) to[i] = F::run(x[i]);
}
template <class F>
ArithmeticKernel function(DType type) {
  if (type == DType::kFloat) return {unary<float, F>};
  if (type == DType::kFloat64) return {unary<double, F>};
  return {};
}

template <class F>
void compare(void* out, const void* a, const void* b, const void*, int64_t count) {
  bool* to = static_cast<bool*>(out);
  const auto* x = static_cast<const uint64_t*>(a);
  const auto* y = static_cast<const int64_t*>(b);
  for (int64_t i = 0; i < count; ++i) to[i] = F::run(x[i], y[i]);
}

}  // namespace

ArithmeticKernel arithmetic_kernel(ArithmeticOp op, DType type) {
  switch (op) {
    case ArithmeticOp::kDiv:
      return is_floating(type) ? vectorised_kernel(op, type) : for_integers<Div>(type);
    case ArithmeticOp::kMod: return for_numbers<Mod>(type);
    case ArithmeticOp::kPow: return for_numbers<Pow>(type);
    case ArithmeticOp::kAtan2: return for_floating<Atan2>(type);
    case ArithmeticOp::kCbrt: return function<Cbrt>(type);
    case ArithmeticOp::kExp: return function<Exp>(type);
    case ArithmeticOp::kLog: return function<Log>(type);
    case ArithmeticOp::kLog2: return function<Log2>(type);
    case ArithmeticOp::kLog10: return function<Log10>(type);
    case ArithmeticOp::kSin: return function<Sin>(type);
    case ArithmeticOp::kCos: return function<Cos>(type);
    case ArithmeticOp::kTan: return function<Tan>(type);
    case ArithmeticOp::kAsin: return function<Asin>(type);
    case ArithmeticOp::kAcos: return function<Acos>(type);
    case ArithmeticOp::kAtan: return function<Atan>(type);
    case ArithmeticOp::kSinh: return function<Sinh>(type);
    case ArithmeticOp::kCosh: return function<Cosh>(type);
    case ArithmeticOp::kTanh: return function<Tanh>(type);
    case ArithmeticOp::kAsinh: return function<Asinh>(type);
    case ArithmeticOp::kAcosh: return function<Acosh>(type);
    case ArithmeticOp::kAtanh: return function<Atanh>(type);
    default: return vectorised_kernel(op, type);
  }
}

ArithmeticKernel mixed_sign_comparison(ArithmeticOp op) {
  switch (op) {
    case ArithmeticOp::kEq: return {compare<CmpEqual>};
    case ArithmeticOp::kNeq: return {compare<CmpNotEqual>};
    case ArithmeticOp::kLt: return {compare<CmpLess>};
    case ArithmeticOp::kLeq: return {compare<CmpLessEqual>};
    case ArithmeticOp::kGt: return {compare<CmpGreater>};
    default: return {compare<CmpGreaterEqual>};
  }
}

ArithmeticConvertFn arithmetic_converter(DType to, DType from) {
  return to == from ? nullptr : vectorised_converter(to, from);
}

}  // namespace torchdali::kernels
