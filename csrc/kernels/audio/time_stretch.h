// SPDX-License-Identifier: Apache-2.0
// The inner loops of fn.time_stretch.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// Candidates that are compared at once.
constexpr int64_t kStretchLanes = 64;

// out[d] = the sum of (x[d + i] - target[i])^2 over i < count, in order, for d < candidates.
// `candidates` is a multiple of kStretchLanes; x has candidates + count - 1 elements.
void squared_distances(float* out, const float* x, const float* target, int64_t candidates,
                       int64_t count);

// out[i] = from[i] + weight * (to[i] - from[i]), with a weight for each `channels` elements. No
// rounding where `from` equals `to`.
void cross_fade(float* out, const float* from, const float* to, const float* weights, int64_t count,
                int64_t channels);

}  // namespace torchdali::kernels
