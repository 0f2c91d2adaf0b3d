// SPDX-License-Identifier: Apache-2.0
// Frames of a signal: where they are, and a tile of them, multiplied with a window function.
#pragma once

#include <cstdint>

#include "core/audio/frame_lanes.h"

namespace torchdali::kernels {

// Which parts of a signal are frames. The first frame begins at start(0), which may be before the
// signal, and the last may end after it.
struct Framing {
  int64_t length = 0;     // of a frame
  int64_t step = 0;       // between starts of frames
  bool centered = false;  // whether frame i is around sample i * step, not from it on

  int64_t start(int64_t frame) const { return frame * step - (centered ? length / 2 : 0); }
  // The number of frames of a signal of `samples` samples; 0 if it is too short. Like DALI 1.35,
  // which divides towards zero: a signal that lacks less than a step has one frame.
  int64_t count(int64_t samples) const {
    const int64_t free = centered ? samples : samples - length;
    return free > -step ? free / step + 1 : 0;
  }
};

// The index in [0, samples) of which sample `i` before or after a signal is the mirror image. The
// first and the last sample are not repeated.
inline int64_t reflect_index(int64_t i, int64_t samples) {
  if (samples <= 1) return 0;
  const int64_t period = 2 * (samples - 1);
  i %= period;
  if (i < 0) i += period;
  return i < samples ? i : period - i;
}

// Writes rows 0 to `length` - 1 of a tile: row n of lane i is signal[i * step + n] * window[n].
void load_frames(float* tile, const float* signal, int64_t step, const float* window,
                 int64_t length);

// DALI's default window, Hann's at the middle of each sample: sin(pi * (i + 0.5) / length)^2.
void hann_window(float* window, int64_t length);

}  // namespace torchdali::kernels
