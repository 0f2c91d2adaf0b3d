// SPDX-License-Identifier: Apache-2.0
// Maps of interleaved channels, pixel by pixel; results do not depend on the instruction set. `out`
// and `in` do not overlap.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace torchdali::kernels {

// y[i] = (m[i][0] * x[0] + m[i][1] * x[1]) + m[i][2] * x[2] + offset[i]
struct ColorMatrix {
  float m[3][3];
  float offset[3];
};

// `pixels` pixels of three elements of any types. Computed in float, converted as convert.h does.
void color_matrix(void* out, DType to, const void* in, DType from, int64_t pixels,
                  const ColorMatrix& matrix);

// The weighted sum of three channels, in 32768ths, rounded. The weights are at most 32767 each and
// sum up to 32768. `bypass_cache`: the output is not read soon.
void weighted_sum(uint8_t* out, const uint8_t* in, int64_t pixels, const int16_t (&weights)[3],
                  bool bypass_cache = false);
// Three channels in reverse order.
void reverse_channels(uint8_t* out, const uint8_t* in, int64_t pixels);
// One channel three times.
void triple_channel(uint8_t* out, const uint8_t* in, int64_t pixels);

}  // namespace torchdali::kernels
