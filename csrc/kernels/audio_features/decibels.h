// SPDX-License-Identifier: Apache-2.0
// fn.to_decibels: multiplier * log10(max(x / reference, ratio of the cutoff)).
#pragma once

#include <algorithm>
#include <bit>
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
  // The logarithm is one of normal numbers: smaller ones are multiplied by 2^24. By masks, because
  // GCC makes a branch of a comparison here.
  constexpr int32_t kLeastNormal = 0x00800000, kOne = 0x3f800000, k24 = 24 << 23;
  const int32_t tiny = (std::bit_cast<int32_t>(ratio) - kLeastNormal) >> 31;  // -1 or 0
  const float normal = ratio * std::bit_cast<float>(kOne + (tiny & k24));
  using Limits = std::numeric_limits<float>;
  const float rest = ratio > Limits::max() ? Limits::infinity() : 0.0f;
  const float log = log_of(normal) + static_cast<float>(tiny) * 16.63553233f + rest;  // log(2^24)
  return scale.factor * log;
}

// `out` may be `in`.
void to_decibels(float* out, const float* in, int64_t count, const DecibelScale& scale);
// The greatest element, or 0 if none is positive. Ignores NaN.
float greatest_or_zero(const float* in, int64_t count);

}  // namespace torchdali::kernels
