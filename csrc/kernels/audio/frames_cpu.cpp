// SPDX-License-Identifier: Apache-2.0
// frames.h, once per instruction set.
#include "kernels/audio/frames.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#define TORCHDALI_ISA_FILE "kernels/audio/frames_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#include "kernels/audio/transpose_lanes.h"

void load_frames(float* __restrict tile, const float* __restrict signal, int64_t step,
                 const float* __restrict window, int64_t length) {
  int64_t n = 0;
  for (; n + 4 <= length; n += 4) {
    for (int lane = 0; lane < kFrameLanes; lane += kPart) {
      Part rows[4];
      transpose_fours(rows, signal + lane * step + n, step);
      for (int i = 0; i < 4; ++i)
        store_part(tile + (n + i) * kFrameLanes + lane, rows[i] * window[n + i]);
    }
  }
  for (; n < length; ++n)
    for (int lane = 0; lane < kFrameLanes; ++lane)
      tile[n * kFrameLanes + lane] = signal[lane * step + n] * window[n];
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void load_frames(float* tile, const float* signal, int64_t step, const float* window,
                 int64_t length) {
  TORCHDALI_ISA_PICK(load_frames)(tile, signal, step, window, length);
}

void hann_window(float* window, int64_t length) {
  for (int64_t i = 0; i < length; ++i) {
    const double s =
        std::sin(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(length));
    window[i] = static_cast<float>(s * s);
  }
}
#endif

}  // namespace torchdali::kernels
