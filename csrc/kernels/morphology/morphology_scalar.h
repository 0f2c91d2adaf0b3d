// SPDX-License-Identifier: Apache-2.0
// The larger or the smaller of two elements, for dilation and erosion.
#pragma once

#include <limits>

namespace torchdali::kernels {

struct Larger {
  // What changes nothing: stands for elements outside of the image.
  template <class T>
  static constexpr T neutral() {
    if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
    else return std::numeric_limits<T>::lowest();
  }
  template <class T>
  static constexpr T of(T a, T b) {
    return a < b ? b : a;
  }
};
struct Smaller {
  template <class T>
  static constexpr T neutral() {
    if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
    else return std::numeric_limits<T>::max();
  }
  template <class T>
  static constexpr T of(T a, T b) {
    return b < a ? b : a;
  }
};

}  // namespace torchdali::kernels
