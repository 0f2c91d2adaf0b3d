// SPDX-License-Identifier: Apache-2.0
// Positions as whole numbers, whatever they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace torchdali::kernels {

// The pixel that a position lies in. Far away, infinite or NaN: one that is far outside.
inline int64_t whole_position(float position) {
  constexpr float kFar = 0x1p40f;
  if (!(position > -kFar)) return -(int64_t{1} << 40);  // NaN too
  return static_cast<int64_t>(std::floor(std::min(position, kFar)));
}

}  // namespace torchdali::kernels
