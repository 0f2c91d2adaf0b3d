// SPDX-License-Identifier: Apache-2.0
// The operations of arithmetic.h on one element, for the loops of the CPU and for the GPU, where
// functions of the C library may differ in the last bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace torchdali::kernels::scalar {

// The type that a small type computes in: int would overflow for 65535 * 65535.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, uint32_t, T>;

struct Add {
  template <class T>
  static constexpr T run(T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  }
};
struct Sub {
  template <class T>
  static constexpr T run(T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
  }
};
struct Mul {
  template <class T>
  static constexpr T run(T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  }
};
struct Div {
  template <class T>
  static constexpr T run(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>)
        if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    }
    return static_cast<T>(a / b);
  }
};
struct Mod {
  template <class T>
  static constexpr T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>)
        if (b == -1) return 0;
      return static_cast<T>(a % b);
    }
  }
};
struct Pow {
  template <class T>
  static constexpr T run(T base, T exponent) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(base, exponent);
    } else {
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
struct Min {
  template <class T>
  static constexpr T run(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static constexpr T run(T a, T b) {
    return a > b ? a : b;
  }
};
struct Clamp {
  template <class T>
  static constexpr T run(T x, T lo, T hi) {
    const T at_least = x < lo ? lo : x;
    return hi < at_least ? hi : at_least;
  }
};
struct BitAnd {
  template <class T>
  static constexpr T run(T a, T b) {
    return a & b;
  }
};
struct BitOr {
  template <class T>
  static constexpr T run(T a, T b) {
    return a | b;
  }
};
struct BitXor {
  template <class T>
  static constexpr T run(T a, T b) {
    return a ^ b;
  }
};
struct Shl {  // unsigned types
  template <class T>
  static constexpr T run(T a, T b) {
    constexpr T kWidth = sizeof(T) * 8;
    const Wide<T> shifted = static_cast<Wide<T>>(a) << (b & (kWidth - 1));
    return b < kWidth ? static_cast<T>(shifted) : T(0);
  }
};
struct Shr {
  template <class T>
  static constexpr T run(T a, T b) {
    using Unsigned = std::make_unsigned_t<T>;
    constexpr Unsigned kLast = sizeof(T) * 8 - 1;
    const Unsigned by = static_cast<Unsigned>(b);
    const T all = std::is_signed_v<T> ? static_cast<T>(a >> kLast) : T(0);
    return by <= kLast ? static_cast<T>(a >> (by & kLast)) : all;
  }
};
struct Eq {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a == b;
  }
};
struct Neq {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a != b;
  }
};
struct Lt {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a < b;
  }
};
struct Leq {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a > b;
  }
};
struct Geq {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a >= b;
  }
};
struct Minus {
  template <class T>
  static constexpr T run(T a) {
    return static_cast<T>(-static_cast<Wide<T>>(a));
  }
};
struct BitNot {
  template <class T>
  static constexpr T run(T a) {
    return static_cast<T>(~static_cast<Wide<T>>(a));
  }
};
struct LogicalNot {
  template <class T>
  static constexpr bool run(T a) {
    return a == 0;
  }
};
struct Abs {  // -0.0 and the smallest integer stay the same
  template <class T>
  static constexpr T run(T a) {
    if constexpr (std::is_unsigned_v<T>) return a;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(a < 0 ? 0 - static_cast<std::make_unsigned_t<T>>(a) : a);
    else return a < 0 ? -a : a;
  }
};
struct Rsqrt {  // floating types, from here on
  template <class T>
  static constexpr T run(T a) {
    return T(1) / std::sqrt(a);
  }
};
struct Atan2 {
  template <class T>
  static constexpr T run(T a, T b) {
    return std::atan2(a, b);
  }
};
#define TORCHDALI_FUNCTION(Name, function) \
  struct Name {                            \
    template <class T>                     \
    static constexpr T run(T a) {          \
      return std::function(a);             \
    }                                      \
  };
TORCHDALI_FUNCTION(Fabs, fabs)
TORCHDALI_FUNCTION(Sqrt, sqrt)
TORCHDALI_FUNCTION(Floor, floor)
TORCHDALI_FUNCTION(Ceil, ceil)
TORCHDALI_FUNCTION(Cbrt, cbrt)
TORCHDALI_FUNCTION(Exp, exp)
TORCHDALI_FUNCTION(Log, log)
TORCHDALI_FUNCTION(Log2, log2)
TORCHDALI_FUNCTION(Log10, log10)
TORCHDALI_FUNCTION(Sin, sin)
TORCHDALI_FUNCTION(Cos, cos)
TORCHDALI_FUNCTION(Tan, tan)
TORCHDALI_FUNCTION(Asin, asin)
TORCHDALI_FUNCTION(Acos, acos)
TORCHDALI_FUNCTION(Atan, atan)
TORCHDALI_FUNCTION(Sinh, sinh)
TORCHDALI_FUNCTION(Cosh, cosh)
TORCHDALI_FUNCTION(Tanh, tanh)
TORCHDALI_FUNCTION(Asinh, asinh)
TORCHDALI_FUNCTION(Acosh, acosh)
TORCHDALI_FUNCTION(Atanh, atanh)
#undef TORCHDALI_FUNCTION

// Of a uint64 and an int64, by value.
struct CmpLess {
  static constexpr bool run(uint64_t a, int64_t b) { return std::cmp_less(a, b); }
};
struct CmpLessEqual {
  static constexpr bool run(uint64_t a, int64_t b) { return std::cmp_less_equal(a, b); }
};
struct CmpGreater {
  static constexpr bool run(uint64_t a, int64_t b) { return std::cmp_greater(a, b); }
};
struct CmpGreaterEqual {
  static constexpr bool run(uint64_t a, int64_t b) { return std::cmp_greater_equal(a, b); }
};
struct CmpEqual {
  static constexpr bool run(uint64_t a, int64_t b) { return std::cmp_equal(a, b); }
};
struct CmpNotEqual {
  static constexpr bool run(uint64_t a, int64_t b) { return std::cmp_not_equal(a, b); }
};
}  // namespace torchdali::kernels::scalar
