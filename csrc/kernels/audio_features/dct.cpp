// SPDX-License-Identifier: Apache-2.0
#include "kernels/audio_features/dct.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace torchdali::kernels {
namespace {

// cos(pi * numerator / denominator), with an argument that is reduced exactly.
double cos_pi(int64_t numerator, int64_t denominator) {
  return std::cos(std::numbers::pi * static_cast<double>(numerator % (2 * denominator)) /
                  static_cast<double>(denominator));
}

// Source: K. R. Rao and P. Yip, Discrete Cosine Transform (1990); scaled as DALI does.
double weight(int type, int64_t size, int64_t k, int64_t n) {
  switch (type) {
    case 1: return cos_pi(n * k, size - 1) * (n == 0 || n == size - 1 ? 0.5 : 1);
    case 2: return cos_pi((2 * n + 1) * k, 2 * size);
    case 3: return cos_pi(n * (2 * k + 1), 2 * size) * (n == 0 ? 0.5 : 1);
    default: return cos_pi((2 * n + 1) * (2 * k + 1), 4 * size);
  }
}

}  // namespace

DctMatrix make_dct(int type, int64_t size, int64_t coefficients, bool normalize, double lifter) {
  DctMatrix dct{.coefficients = coefficients, .size = size, .values = {}};
  dct.values.reserve(static_cast<size_t>(coefficients * size));
  const auto length = static_cast<double>(size);
  for (int64_t k = 0; k < coefficients; ++k) {
    double lift = 1;
    if (lifter != 0)
      lift += lifter / 2 * std::sin(std::numbers::pi * static_cast<double>(k + 1) / lifter);
    for (int64_t n = 0; n < size; ++n) {
      double value = weight(type, size, k, n) * lift;
      if (normalize) {
        value *= std::sqrt(2 / length);
        if (type == 2 && k == 0) value *= std::numbers::sqrt2 / 2;
        if (type == 3 && n == 0) value *= std::numbers::sqrt2;
      }
      dct.values.push_back(static_cast<float>(value));
    }
  }
  return dct;
}

}  // namespace torchdali::kernels
