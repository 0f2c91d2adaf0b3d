// SPDX-License-Identifier: Apache-2.0
// y = M x + T for many vectors that are consecutive in memory. Computed in float, in the order of
// the columns and then T, with every instruction set.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

struct LinearMap {
  int64_t rows, columns;  // components of y and of x
  const float* matrix;    // rows * columns, C order
  const float* offset;    // rows
};
// `out`: rows * count, `in`: columns * count; they do not overlap.
void transform_points(float* out, const float* in, int64_t count, const LinearMap& map);

}  // namespace torchdali::kernels
