// SPDX-License-Identifier: Apache-2.0
// The loops of arithmetic.h that no instruction set makes faster: division of integers, powers, and
// the functions of the C library, whose results are those of DALI to the bit.
#include "kernels/arithmetic.h"

#include <cmath>
#include <type_traits>
#include <utility>

#include "kernels/arithmetic_cpu.h"

namespace torchdali::kernels {
namespace {

struct Div {
  template <class T>
  static T run(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    return static_cast<T>(a / b);
  }
};
struct Mod {
  template <class T>
  static T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
    else {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>)
        if (b == -1) return 0;
      return static_cast<T>(a % b);
    }
  }
};
struct Pow {
  template <class T>
  static T run(T base, T exponent) {
    if constexpr (std::is_floating_point_v<T>) return std::pow(base, exponent);
    else {
      if constexpr (std::is_signed_v<T>)
        if (exponent < 0) return 0;
      uint64_t square = static_cast<uint64_t>(base), result = 1;
      for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
        if (left & 1) result *= square;
        square *= square;
      }
      return static_cast<T>(result);
    }
  }
};
struct Atan2 {
  template <class T>
  static T run(T a, T b) {
    return std::atan2(a, b);
  }
};

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

template <class T, T (*function)(T)>
void unary(void* out, const void* a, const void*, const void*, int64_t count) {
  T* to = static_cast<T*>(out);
  const T* x = static_cast<const T*>(a);
  for (int64_t i = 0; i < count; ++i) to[i] = function(x[i]);
}
template <float (*in_float)(float), double (*in_double)(double)>
ArithmeticKernel function(DType type) {
  if (type == DType::kFloat) return {unary<float, in_float>};
  if (type == DType::kFloat64) return {unary<double, in_double>};
  return {};
}

struct CmpLess {
  static bool run(uint64_t a, int64_t b) { return std::cmp_less(a, b); }
};
struct CmpLessEqual {
  static bool run(uint64_t a, int64_t b) { return std::cmp_less_equal(a, b); }
};
struct CmpGreater {
  static bool run(uint64_t a, int64_t b) { return std::cmp_greater(a, b); }
};
struct CmpGreaterEqual {
  static bool run(uint64_t a, int64_t b) { return std::cmp_greater_equal(a, b); }
};
struct CmpEqual {
  static bool run(uint64_t a, int64_t b) { return std::cmp_equal(a, b); }
};
struct CmpNotEqual {
  static bool run(uint64_t a, int64_t b) { return std::cmp_not_equal(a, b); }
};
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
    case ArithmeticOp::kCbrt: return function<std::cbrt, std::cbrt>(type);
    case ArithmeticOp::kExp: return function<std::exp, std::exp>(type);
    case ArithmeticOp::kLog: return function<std::log, std::log>(type);
    case ArithmeticOp::kLog2: return function<std::log2, std::log2>(type);
    case ArithmeticOp::kLog10: return function<std::log10, std::log10>(type);
    case ArithmeticOp::kSin: return function<std::sin, std::sin>(type);
    case ArithmeticOp::kCos: return function<std::cos, std::cos>(type);
    case ArithmeticOp::kTan: return function<std::tan, std::tan>(type);
    case ArithmeticOp::kAsin: return function<std::asin, std::asin>(type);
    case ArithmeticOp::kAcos: return function<std::acos, std::acos>(type);
    case ArithmeticOp::kAtan: return function<std::atan, std::atan>(type);
    case ArithmeticOp::kSinh: return function<std::sinh, std::sinh>(type);
    case ArithmeticOp::kCosh: return function<std::cosh, std::cosh>(type);
    case ArithmeticOp::kTanh: return function<std::tanh, std::tanh>(type);
    case ArithmeticOp::kAsinh: return function<std::asinh, std::asinh>(type);
    case ArithmeticOp::kAcosh: return function<std::acosh, std::acosh>(type);
    case ArithmeticOp::kAtanh: return function<std::atanh, std::atanh>(type);
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
