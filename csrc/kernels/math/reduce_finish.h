// SPDX-License-Identifier: Apache-2.0
// The results of a reduction from its accumulators (reduce.h), for the host and the GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/convert.h"

namespace torchdali::kernels {

enum class Finish : int8_t { kSum, kMean, kRoot };

// The result for `values` values. Integers: sums modulo 2^bits, truncated means.
template <Finish kFinish, class Out, class Acc>
constexpr Out finished(Acc sum, int64_t values) {
  constexpr bool kExact =
      std::is_integral_v<Out> && !std::is_same_v<Out, bool> && std::is_integral_v<Acc>;
  if constexpr (kExact && kFinish == Finish::kSum) {
    return static_cast<Out>(sum);
  } else if constexpr (kExact && kFinish == Finish::kMean) {
    return values == 0 ? Out(0) : convert<Out>(static_cast<Acc>(sum / Acc(values)));
  } else {
    double value = static_cast<double>(sum);
    if (kFinish != Finish::kSum) value /= static_cast<double>(values);
    if (kFinish == Finish::kRoot) value = std::sqrt(value);
    if constexpr (std::is_integral_v<Out> && !std::is_same_v<Out, bool>)
      return truncate_saturating<Out>(value);
    else return convert<Out>(value);
  }
}

// The minimum or maximum of no values. As in DALI, it is finite for floats too.
template <class T>
constexpr T limit_of_nothing(bool is_min) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half(is_min ? 65504.0f : -65504.0f);
  } else {
    using Limits = std::numeric_limits<T>;
    return is_min ? Limits::max() : Limits::lowest();
  }
}

// The factor of fn.normalize, from a sum of squared deviations. 0 if there is no variance.
constexpr float deviation_factor(double sum, double divisor, float epsilon, float scale) {
  const double variance = divisor > 0 ? sum / divisor + epsilon : 0;
  return variance == 0 ? 0.0f : static_cast<float>(scale / std::sqrt(variance));
}

}  // namespace torchdali::kernels
