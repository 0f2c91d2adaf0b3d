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

// out[i] = add[c] + factor[c] * in[i] for `count` numbers of points with `components` of 1 to 3
// components: c = i % components.
void scale_points(float* out, const float* in, int64_t count, int components, const float* factor,
                  const float* add);

}  // namespace torchdali::kernels
