// SPDX-License-Identifier: Apache-2.0
// fn.nonsilent_region: from the first to the last window of a signal that is not silent.
#pragma once

#include <cstdint>

#include "kernels/audio_features/moving_power.h"

namespace torchdali::kernels {

struct SilenceLevel {
  double ratio = 0;      // of the power of a window to the reference, above which it is not silent
  double reference = 0;  // 0: the greatest power of a window
};

struct NonsilentRegion {
  int64_t begin = 0, length = 0;
};
// Of windows that end at these samples; none if `last` is negative.
constexpr NonsilentRegion region_of(int64_t first, int64_t last, int64_t window) {
  if (last < 0) return {};
  const int64_t begin = first - window + 1 > 0 ? first - window + 1 : 0;
  return {begin, last - begin + 1};
}

// Number of doubles in `work`.
int64_t nonsilence_work(const MovingPower& power);
NonsilentRegion find_nonsilent(const float* signal, const MovingPower& power,
                               const SilenceLevel& level, double* work);

}  // namespace torchdali::kernels
