// SPDX-License-Identifier: Apache-2.0
// time_stretch.h, once per instruction set.
#include "kernels/audio_augment/time_stretch.h"

#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/audio_augment/time_stretch_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL == 2
constexpr int kWidth = 16;
#elif TORCHDALI_ISA_LEVEL == 1
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif
typedef float Vector __attribute__((vector_size(kWidth * sizeof(float))));

// One lane for each candidate, so that the order of the sums does not depend on the width.
template <int kVectors>
void distances_of(float* __restrict out, const float* __restrict x, const float* __restrict target,
                  int64_t count) {
  Vector sums[kVectors] = {};
  for (int64_t i = 0; i < count; ++i) {
    const Vector wanted = Vector{} + target[i];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      Vector difference;
      std::memcpy(&difference, x + i + v * kWidth, sizeof(Vector));
      difference -= wanted;
      sums[v] += difference * difference;
    }
  }
  std::memcpy(out, sums, sizeof(sums));
}

void squared_distances(float* out, const float* x, const float* target, int64_t candidates,
                       int64_t count) {
  constexpr int kVectors = TORCHDALI_ISA_LEVEL == 2 ? 4 : 8;
  static_assert(kStretchLanes % kWidth == 0);
  int64_t d = 0;
  for (; d + kVectors * kWidth <= candidates; d += kVectors * kWidth)
    distances_of<kVectors>(out + d, x + d, target, count);
  for (; d < candidates; d += kStretchLanes)
    distances_of<kStretchLanes / kWidth>(out + d, x + d, target, count);
}

void cross_fade(float* __restrict out, const float* __restrict from, const float* __restrict to,
                const float* __restrict weights, int64_t count, int64_t channels) {
  if (channels == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = faded(from[i], to[i], weights[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i, out += channels, from += channels, to += channels)
    for (int64_t c = 0; c < channels; ++c) out[c] = faded(from[c], to[c], weights[i]);
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void squared_distances(float* out, const float* x, const float* target, int64_t candidates,
                       int64_t count) {
  TORCHDALI_ISA_PICK(squared_distances)(out, x, target, candidates, count);
}
void cross_fade(float* out, const float* from, const float* to, const float* weights, int64_t count,
                int64_t channels) {
  TORCHDALI_ISA_PICK(cross_fade)(out, from, to, weights, count, channels);
}
#endif

}  // namespace torchdali::kernels
