// SPDX-License-Identifier: Apache-2.0
// Discrete cosine transforms of frames by a matrix, for fn.mfcc.
#pragma once

#include <cstdint>
#include <vector>

namespace torchdali::kernels {

// `coefficients` <= `size`.
struct DctMatrix {
  int64_t coefficients = 0, size = 0;
  std::vector<float> values;  // [coefficients][size]
};

// A DCT of type 1, 2, 3 or 4 of `size` values (at least 2 for type 1), whose first coefficients are
// kept. `normalize`: orthonormal, not for type 1. A `lifter` other than 0 multiplies coefficient k
// by 1 + lifter / 2 * sin(pi * (k + 1) / lifter).
DctMatrix make_dct(int type, int64_t size, int64_t coefficients, bool normalize, double lifter);

// Transforms a tile of frames: [size] rows to [coefficients] rows.
void apply_dct(float* out, const float* in, const DctMatrix& dct);

}  // namespace torchdali::kernels
