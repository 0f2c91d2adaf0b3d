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

// The extents that contain the whole input after each of some rotations: of the frames of a
// sequence, or a single one. An extent should have the parity of the extent of the input that
// contributes most to it, so that the center of the input stays on, or between, pixels. Frames vote
// on it: an extent is odd if more than half of the rotations call for that. Source: DALI 1.35, run
// with some hundred angles, axes and sequences.
class RotatedCanvas {
 public:
  explicit RotatedCanvas(const std::array<int64_t, 3>& input) : input_(input) {}

  // `m` maps the result to the input.
  void add(const Matrix3& m) {
    constexpr double kSlack = 1e-2;  // of a pixel, that may be cut off
    for (size_t i = 0; i < 3; ++i) {
      double size = 0;
      size_t largest = i;  // also where another is equal
      for (size_t j = 0; j < 3; ++j) {
        size += std::abs(m[j][i]) * static_cast<double>(input_[2 - j]);
        if (std::abs(m[j][i]) > std::abs(m[largest][i])) largest = j;
      }
      const double whole = std::ceil(size - kSlack);
      TORCHDALI_CHECK(whole < 0x1p31, "the canvas would have an extent of ", whole,
                      ", at most 2^31 - 1 are possible");
      extents_[2 - i] = std::max(extents_[2 - i], static_cast<int64_t>(whole));
      odd_[2 - i] += input_[2 - largest] % 2;
    }
    ++rotations_;
  }
  std::array<int64_t, 3> extents() const {
    std::array<int64_t, 3> result = extents_;
    for (size_t a = 0; a < 3; ++a) result[a] += result[a] % 2 != (2 * odd_[a] > rotations_);
    return result;
  }

 private:
  std::array<int64_t, 3> input_, extents_{}, odd_{};
  int64_t rotations_ = 0;
};

}  // namespace torchdali
