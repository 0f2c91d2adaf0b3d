// SPDX-License-Identifier: Apache-2.0
// Element types, with DALI's numbers (shared with torchdali/types.py), and dispatch over them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/error.h"

namespace torchdali {

enum class DType : int8_t {
  kNone = -1,
  kUInt8 = 0,
  kUInt16,
  kUInt32,
  kUInt64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kFloat,
  kFloat64,
  kBool,
};
inline constexpr int kNumDTypes = 12;

// IEEE 754 binary16 as storage; arithmetic happens in float. Conversion rounds to nearest even.
struct Half {
  uint16_t bits = 0;
  constexpr Half() = default;
  constexpr explicit Half(float value) : bits(from_float(value)) {}
  constexpr operator float() const {
    return to_float(bits);
  }  // NOLINT: implicit, so that a half is read as a float

  // Both directions select between results instead of branching, so that loops vectorize.
  static constexpr uint16_t from_float(float value) {
    const uint32_t x = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = x & 0x7fffffff;
    const uint32_t odd = (magnitude >> 13) & 1;
    // Adding 0.5 to a value that is subnormal in binary16 moves it to the low mantissa bits,
    // rounded to nearest even by the FPU.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - 0x3f000000;
    const uint32_t normal = (magnitude - 0x38000000 + 0xfff + odd) >> 13;
    uint32_t bits = magnitude < 0x38800000 ? subnormal : normal;
    bits = magnitude >= 0x477ff000 ? 0x7c00 : bits;  // rounds past 65504
    bits = magnitude > 0x7f800000 ? 0x7e00 : bits;   // NaN, kept quiet
    return static_cast<uint16_t>(bits | ((x >> 16) & 0x8000));
  }
  static constexpr float to_float(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fff) << 13;
    // Exact, subnormals included: the exponents of the two formats differ by 112.
    const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const uint32_t special = magnitude | 0x7f800000;  // infinity, NaN
    return std::bit_cast<float>(sign | (magnitude >= 0x0f800000 ? special : finite));
  }
};

constexpr int64_t itemsize(DType t) {
  constexpr int64_t kSizes[kNumDTypes] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 1};
  return t == DType::kNone ? 0 : kSizes[static_cast<int>(t)];
}

// NumPy's name; the names of DALI's enumerators are in Python.
constexpr const char* dtype_name(DType t) {
  constexpr const char* kNames[kNumDTypes] = {"uint8",   "uint16",  "uint32",  "uint64",
                                              "int8",    "int16",   "int32",   "int64",
                                              "float16", "float32", "float64", "bool"};
  return t == DType::kNone ? "none" : kNames[static_cast<int>(t)];
}

constexpr bool is_floating(DType t) {
  return t == DType::kFloat16 || t == DType::kFloat || t == DType::kFloat64;
}

template <class T>
inline constexpr bool is_floating_type = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  else if constexpr (std::is_same_v<T, Half>) return DType::kFloat16;
  else if constexpr (std::is_same_v<T, float>) return DType::kFloat;
  else if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  else {
    static_assert(std::is_integral_v<T>);
    constexpr int kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<DType>(kLog + (std::is_signed_v<T> ? 4 : 0));
  }
}

// Calls fn.template operator()<T>() with the C++ type of `t`. Use it outside of loops:
//   dispatch_dtype(t, [&]<class T>() { ... });
template <class Fn>
decltype(auto) dispatch_dtype(DType t, Fn&& fn) {
  switch (t) {
    case DType::kUInt8: return fn.template operator()<uint8_t>();
    case DType::kUInt16: return fn.template operator()<uint16_t>();
    case DType::kUInt32: return fn.template operator()<uint32_t>();
    case DType::kUInt64: return fn.template operator()<uint64_t>();
    case DType::kInt8: return fn.template operator()<int8_t>();
    case DType::kInt16: return fn.template operator()<int16_t>();
    case DType::kInt32: return fn.template operator()<int32_t>();
    case DType::kInt64: return fn.template operator()<int64_t>();
    case DType::kFloat16: return fn.template operator()<Half>();
    case DType::kFloat: return fn.template operator()<float>();
    case DType::kFloat64: return fn.template operator()<double>();
    case DType::kBool: return fn.template operator()<bool>();
    case DType::kNone: break;
  }
  raise(ErrorKind::kInternal, "dispatch over a missing element type");
}

}  // namespace torchdali
