// SPDX-License-Identifier: Apache-2.0
// fn.to_decibels: multiplier * log10(max(x / reference, ratio of the cutoff)).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/noise/random_scalar.h"

namespace torchdali::kernels {

// What does not depend on data.
struct DecibelScale {
  float factor = 0;       // of the natural logarithm
  float least_ratio = 0;  // positive
  float inverse_reference = 0;
};

inline DecibelScale decibel_scale(float multiplier, float cutoff_db) {
  // A ratio that is too small for a float becomes the smallest one, so that logarithms are finite.
  const double ratio = std::pow(10.0, static_cast<double>(cutoff_db) / multiplier);
  return {
      .factor = static_cast<float>(multiplier / std::log(10.0)),
      .least_ratio = std::max(static_cast<float>(ratio), std::numeric_limits<float>::denorm_min()),
      .inverse_reference = 1};
}
// Values that are not positive have the cutoff, so the reciprocal of 0 may be any finite number.
constexpr float inverse_of_reference(float reference) {
  constexpr float kMost = std::numeric_limits<float>::max();
  if (reference == 0) return kMost;
  const float inverse = 1.0f / reference;
  return inverse < kMost ? inverse : kMost;
}

[[gnu::always_inline]] constexpr float decibels_of(float x, const DecibelScale& scale) {
  float ratio = x * scale.inverse_reference;
  ratio = ratio > scale.least_ratio ? ratio : scale.least_ratio;  // NaN too
  // The logarithm is one of normal numbers.
  const bool tiny = ratio < std::numeric_limits<float>::min();
  const float normal = ratio * (tiny ? 0x1p24f : 1.0f);
  float log = log_of(normal) - (tiny ? 16.63553233f : 0.0f);  // log(2^24)
  log = ratio > std::numeric_limits<float>::max() ? ratio : log;
  return scale.factor * log;
}

// `out` may be `in`.
void to_decibels(float* out, const float* in, int64_t count, const DecibelScale& scale);
// The greatest element, or 0 if none is positive. Ignores NaN.
float greatest_or_zero(const float* in, int64_t count);

}  // namespace torchdali::kernels
