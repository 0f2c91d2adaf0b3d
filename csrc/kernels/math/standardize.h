// SPDX-License-Identifier: Apache-2.0
// y = (x - mean) * scale + shift over an array, with means and scales that are broadcast along some
// of its axes. Computed in float, in this order of operations, with every instruction set.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/layout.h"
#include "kernels/axis_groups.h"

namespace torchdali::kernels {

struct Standardize {
  const void* in;
  DType in_dtype;
  void* out;
  DType out_dtype;  // converted as convert.h does
  Shape shape;
  AxisMask axes;              // those along which one mean and scale serve all elements
  const float *mean, *scale;  // one per position along the other axes, in C order
  float shift;
};
void standardize(const Standardize& work);

// The inner loops, once per instruction set: one mean and scale for all, or one per element.
struct StandardizeFns {
  void (*line)(float* out, const void* in, int64_t count, float mean, float scale, float shift);
  void (*pattern)(float* out, const void* in, int64_t count, const float* mean, const float* scale,
                  float shift);
};
StandardizeFns standardize_functions(DType in);

}  // namespace torchdali::kernels
