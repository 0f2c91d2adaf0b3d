// SPDX-License-Identifier: Apache-2.0
// Normalization of a box of any element type and any order of axes, row by row; the arithmetic is
// in normalize.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/dtype.h"
#include "core/layout.h"

namespace torchdali::kernels {

// An axis of the input, and its stride in the output; strides in elements.
struct Axis {
  int64_t extent = 1, in_stride = 0, out_stride = 0;
};

// A box of the input, with axes W, C, H and any others, and the box of the same extents in the
// output.
struct NormalizeBox {
  Axis w, c, h, outer[kMaxDims];
  int num_outer = 0;
  const char* in;  // the first element of each box
  char* out;
  DType in_dtype, out_dtype;
  bool mirror;                         // reverse W
  std::span<const float> mean, scale;  // one per channel
  float shift;
  bool bypass_cache = false;  // allows stores that do
};

// y = (x - mean) * scale + shift, converted as convert.h does. `scratch`: scratch_bytes(box) bytes,
// aligned for float. No extent is 0.
void normalize(const NormalizeBox& box, std::byte* scratch);
size_t scratch_bytes(const NormalizeBox& box);

}  // namespace torchdali::kernels
