// SPDX-License-Identifier: Apache-2.0
// Packs elements that lie at regular distances in memory, as subscripts pick them.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/layout.h"

namespace torchdali::kernels {

// Whether elements of `shape` with these distances lie packed, in C order.
inline bool is_packed(const Shape& shape, const Shape& strides) {
  int64_t expected = 1;
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

template <class T>
void copy_row(T* out, const T* in, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) out[i] = in[i * stride];
}

// Copies elements of type T, whose first lies at `in` and which are `strides` elements apart (of
// any sign), to `out`, packed. None of the extents is 0.
template <class T>
void copy_strided(T* out, const T* in, Shape shape, const Shape& strides) {
  // The packed axes at the end make one run, others are walked over.
  int axes = shape.ndim();
  int64_t run = 1;
  while (axes > 0 && (shape[axes - 1] == 1 || strides[axes - 1] == run)) run *= shape[--axes];
  // Without such axes the last one is a row of single elements.
  int64_t row = 1, row_stride = 1;
  if (run == 1 && axes > 0) {
    row = shape[axes - 1];
    row_stride = strides[--axes];
  }
  int64_t index[kMaxDims] = {};
  for (;;) {
    if (run > 1) std::memcpy(out, in, static_cast<size_t>(run) * sizeof(T));
    else copy_row(out, in, row, row_stride);
    out += run * row;
    int axis = axes - 1;
    for (; axis >= 0; --axis) {
      in += strides[axis];
      if (++index[axis] < shape[axis]) break;
      in -= shape[axis] * strides[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace torchdali::kernels
