// SPDX-License-Identifier: Apache-2.0
// A linear map of three interleaved channels, pixel by pixel. Computed in float and converted as
// convert.h does; results do not depend on the instruction set.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace torchdali::kernels {

// y[i] = (m[i][0] * x[0] + m[i][1] * x[1]) + m[i][2] * x[2] + offset[i]
struct ColourMatrix {
  float m[3][3];
  float offset[3];
};

// `pixels` pixels of three elements of any types; `out` and `in` do not overlap.
void colour_matrix(void* out, DType to, const void* in, DType from, int64_t pixels,
                   const ColourMatrix& matrix);

}  // namespace torchdali::kernels
