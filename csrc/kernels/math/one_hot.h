// SPDX-License-Identifier: Apache-2.0
// The class of a number, for the host and the GPU.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace torchdali::kernels {

// One of `classes`, after truncation; -1 if it is out of range.
template <class T>
constexpr int64_t class_of(T number, int64_t classes) {
  if constexpr (is_floating_type<T>) {
    const auto x = static_cast<double>(number);
    return classes > 0 && x > -1 && x < static_cast<double>(classes) ? static_cast<int64_t>(x) : -1;
  } else {
    const auto c = static_cast<int64_t>(number);  // negative if it does not fit
    return c >= 0 && c < classes ? c : -1;
  }
}

}  // namespace torchdali::kernels
