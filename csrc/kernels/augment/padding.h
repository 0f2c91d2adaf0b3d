// SPDX-License-Identifier: Apache-2.0
// Where the pixels of a padded image come from.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

enum class PadMode : int8_t { kConstant, kEdge, kReflect, kSymmetric };

// The source of element `at` of an axis of `n` elements, n > 0; -1 outside.
constexpr int64_t padded_source(int64_t at, int64_t n, PadMode mode) {
  if (at >= 0 && at < n) return at;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return at < 0 ? 0 : n - 1;
  // Mirrored at the last element, or between it and its copy.
  const int64_t repeat = mode == PadMode::kReflect ? 1 : 0;
  if (n == repeat) return 0;
  const int64_t period = 2 * (n - repeat);
  int64_t k = at % period;
  if (k < 0) k += period;
  return k < n ? k : period - 1 + repeat - k;
}

}  // namespace torchdali::kernels
