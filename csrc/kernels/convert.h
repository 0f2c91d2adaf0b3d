// SPDX-License-Identifier: Apache-2.0
// Conversion between element types, of one value and of arrays. Integers saturate, fractions round
// to the nearest with halves away from zero, NaN becomes 0. Source: the behavior of DALI 1.35 on
// the CPU, found by running it. For the cases where it is undefined (NaN to 32 and 64 bits) or its
// binary16 rounding differs from IEEE 754 (ties away from zero), see
// docs/guide/from_dali_operators.md. constexpr functions run on the GPU too.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/dtype.h"

namespace torchdali::kernels {

// The type that a floating type computes in.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Prepares a value for conversion by truncation, so that the result is rounded with halves away
// from zero. Adds the largest value below 0.5, so that 0.49999997 does not become 1. std::round is
// not vectorized.
template <class F>
constexpr F round_before_truncation(F x) {
  constexpr F kBelowHalf = std::is_same_v<F, float> ? F(0x1.fffffep-2) : F(0x1.fffffffffffffp-2);
  return x + std::copysign(kBelowHalf, x);
}

// Truncates the fraction; NaN becomes 0.
template <class To, class F>
constexpr To truncate_saturating(F x) {
  using Limits = std::numeric_limits<To>;
  constexpr F kLow = static_cast<F>(Limits::min());  // exact: 0 or a power of two
  constexpr F kEnd = static_cast<F>(uint64_t{1} << (Limits::digits - 1)) * F(2);
  if constexpr (sizeof(To) <= 2) {  // both limits are exact, and the loop is vectorized
    constexpr F kHigh = static_cast<F>(Limits::max());
    x = x == x ? x : F(0);
    x = x > kLow ? x : kLow;
    x = x < kHigh ? x : kHigh;
    return static_cast<To>(static_cast<int32_t>(x));
  } else {
    if (x != x) return 0;
    if (x <= kLow) return Limits::min();
    if (x >= kEnd) return Limits::max();
    return static_cast<To>(x);
  }
}

// convert<uint8_t>(x) in fewer steps, since negative values become 0 anyway. The sum is computed
// first: GCC 12 vectorizes no other order.
constexpr uint8_t round_to_byte(float x) {
  constexpr float kBelowHalf = 0x1.fffffep-2f;
  x = x + kBelowHalf;
  x = x > 0.0f ? x : 0.0f;  // NaN too
  x = x < 255.0f ? x : 255.0f;
  return static_cast<uint8_t>(static_cast<int32_t>(x));
}

template <class To, class From>
constexpr To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, bool>) {
    // Rounded like any other integer: 0.3 is false.
    if constexpr (is_floating_type<From>) return !(std::abs(Arithmetic<From>(x)) < 0.5f);
    else return x != 0;
  } else if constexpr (std::is_same_v<To, Half>) {
    return Half(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_same_v<To, uint8_t> && std::is_same_v<From, float>) {
    return round_to_byte(x);
  } else if constexpr (is_floating_type<From>) {
    return truncate_saturating<To>(round_before_truncation(Arithmetic<From>(x)));
  } else if constexpr (std::is_same_v<From, bool>) {
    return x ? 1 : 0;
  } else {
    using Limits = std::numeric_limits<To>;
    if (std::cmp_less(x, Limits::min())) return Limits::min();
    if (std::cmp_greater(x, Limits::max())) return Limits::max();
    return static_cast<To>(x);
  }
}

// `count` elements; `out` and `in` do not overlap. Look it up once per sample.
using ConvertFn = void (*)(void* out, const void* in, int64_t count);
ConvertFn converter(DType to, DType from);
// To uint8 from any type, truncating instead of rounding, as DALI's crop does.
ConvertFn truncating_converter_to_uint8(DType from);

// Arithmetic in float between any two types: fn(x, n) changes n values in place, which are then
// converted. In blocks of a multiple of `unit` elements that fit the first-level cache.
template <class Fn>
void in_float_blocks(void* out, DType to, const void* in, DType from, int64_t count, int64_t unit,
                     Fn&& fn) {
  constexpr int64_t kBlock = 1024;
  alignas(64) float buffer[kBlock];
  const ConvertFn load = converter(DType::kFloat, from), store = converter(to, DType::kFloat);
  const int64_t step = kBlock - kBlock % unit;
  const int64_t in_size = itemsize(from), out_size = itemsize(to);
  for (int64_t i = 0; i < count; i += step) {
    const int64_t n = std::min(step, count - i);
    char* to_block = static_cast<char*>(out) + i * out_size;
    float* x = to == DType::kFloat ? reinterpret_cast<float*>(to_block) : buffer;
    load(x, static_cast<const char*>(in) + i * in_size, n);
    fn(x, n);
    if (x == buffer) store(to_block, x, n);
  }
}

}  // namespace torchdali::kernels
