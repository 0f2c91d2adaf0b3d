// SPDX-License-Identifier: Apache-2.0
// The size of a rotated image, for operators that rotate images and boxes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/error.h"

namespace torchdali {

using Matrix3 = std::array<std::array<double, 3>, 3>;  // over x, y, z

// An angle in radians: a float, as in DALI.
inline float radians_of(float degrees) {
  constexpr double kRadians = 3.14159265358979323846 / 180;
  TORCHDALI_CHECK(std::isfinite(degrees), "`angle` is ", degrees, ", expected a finite number");
  return static_cast<float>(degrees * kRadians);
}

// The extents of the whole rotated input; `m` maps the result to the input. Each has the parity of
// the extent of the input that contributes most to it, so that the center of the input stays on, or
// between, pixels. Source: DALI 1.35, run with some hundred angles and axes.
inline std::array<int64_t, 3> rotated_canvas(const Matrix3& m,
                                             const std::array<int64_t, 3>& extents) {
  constexpr double kSlack = 1e-2;  // of a pixel, that may be cut off
  std::array<int64_t, 3> result{};
  for (size_t i = 0; i < 3; ++i) {
    double size = 0;
    size_t largest = 0;
    for (size_t j = 0; j < 3; ++j) {
      size += std::abs(m[j][i]) * static_cast<double>(extents[2 - j]);
      if (std::abs(m[j][i]) > std::abs(m[largest][i])) largest = j;
    }
    const double whole = std::ceil(size - kSlack);
    TORCHDALI_CHECK(whole < 0x1p31, "the canvas would have an extent of ", whole,
                    ", at most 2^31 - 1 are possible");
    result[2 - i] = std::max<int64_t>(static_cast<int64_t>(whole), 0);
    if ((result[2 - i] - extents[2 - largest]) % 2 != 0) ++result[2 - i];
  }
  return result;
}

}  // namespace torchdali
