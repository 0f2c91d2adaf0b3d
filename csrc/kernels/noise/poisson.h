// SPDX-License-Identifier: Apache-2.0
// Poisson distribution of any mean, one draw at a time. constexpr functions run on the GPU too,
// where functions of the C library may differ in the last bits.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "core/random.h"

namespace torchdali {

// ln(k!), for integers k >= 0, within 1e-9 (Stirling's series from 10 on). std::lgamma may write to
// a global variable.
constexpr double log_factorial(double k) {
  constexpr double kSmall[10] = {0,
                                 0,
                                 0.69314718055994531,
                                 1.79175946922805500,
                                 3.17805383034794562,
                                 4.78749174278204599,
                                 6.57925121201010100,
                                 8.52516136106541430,
                                 10.6046029027452502,
                                 12.8018274800814696};
  if (k < 10) return kSmall[static_cast<int>(k)];
  const double x = k + 1, inverse = 1 / x, square = inverse * inverse;
  return (x - 0.5) * std::log(x) - x + 0.91893853320467274 +  // ln(sqrt(2 pi))
         inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
}

// Uniform numbers of one element. Each element has its own stream, so the number of draws does not
// affect other elements.
class PoissonDraws {
 public:
  constexpr PoissonDraws(uint64_t seed, uint64_t sample, uint64_t element)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        counter_{static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32),
                 static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32)} {}
  // In [0, 1), 32 bits.
  constexpr double next() {
    if (used_ == 4) {
      block_ = philox4x32(counter_, key_);
      counter_[3] += 1u << 16;  // after all elements that fit into memory
      used_ = 0;
    }
    return block_[static_cast<size_t>(used_++)] * 0x1p-32;
  }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

// A draw with mean `lambda`: 0 if it is not positive, NaN if it is NaN.
constexpr double poisson(double lambda, PoissonDraws& draws) {
  if (!(lambda > 0)) return lambda != lambda ? lambda : 0.0;
  if (lambda < 10) {
    // Inversion: the first count whose cumulative probability exceeds a uniform number.
    double u = draws.next(), p = std::exp(-lambda);
    int k = 0;
    constexpr int kRare = 100;  // beyond 32 bits
    while (u >= p && k < kRare) {
      u -= p;
      ++k;
      p *= lambda / k;
    }
    return k;
  }
  if (lambda > 1e9) {
    // The difference from a normal distribution is below the precision of a double.
    const double radius = std::sqrt(-2 * std::log(1 - draws.next()));
    const double z = radius * std::cos(6.28318530717958648 * draws.next());
    return std::isinf(lambda) ? lambda : std::nearbyint(lambda + std::sqrt(lambda) * z);
  }
  // Transformed rejection (W. Hormann, "The transformed rejection method for generating Poisson
  // random variables", 1993, algorithm PTRS).
  const double root = std::sqrt(lambda), log_lambda = std::log(lambda);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), limit = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = draws.next() - 0.5, v = 1 - draws.next();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + lambda + 0.43);
    if (us >= 0.07 && v <= limit) return k;
    if (!(k >= 0) || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -lambda + k * log_lambda - log_factorial(k))
      return k;
  }
}

}  // namespace torchdali
