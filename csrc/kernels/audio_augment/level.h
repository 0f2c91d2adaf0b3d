// SPDX-License-Identifier: Apache-2.0
// Levels of signals, and the sums that follow from them.
#pragma once

#include <cstdint>

#include "kernels/audio_augment/level_scalar.h"

namespace torchdali::kernels {

// The level of the first `count` values of `signal`.
double signal_level(Level kind, const LoopedSignal& signal, int64_t count);

// out[i] = in[i] * factor, in [-limit, limit]; `limit` may be infinite. In place, or apart.
void apply_gain(float* out, const float* in, int64_t count, float factor, float limit);

// out[i] = in[i] + factor * noise[i], of which elements follow each other without end.
void mix(float* out, const float* in, const LoopedSignal& noise, int64_t count, float factor);

}  // namespace torchdali::kernels
