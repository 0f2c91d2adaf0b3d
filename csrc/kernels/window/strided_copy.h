// SPDX-License-Identifier: Apache-2.0
// Packs elements at regular strides, as selected by subscripts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/layout.h"
#include "kernels/window/mirror.h"

namespace torchdali::kernels {

// The strides of elements that are packed, in C order; as torch's, also of empty shapes.
inline Shape packed_strides(const Shape& shape) {
  Shape strides = shape;
  uint64_t stride = 1;  // wraps around for impossible extents, which are found later
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(std::max<int64_t>(shape[i], 1));
  }
  return strides;
}

// Whether elements of `shape` with these strides are packed, in C order.
inline bool is_packed(const Shape& shape, const Shape& strides) {
  const Shape packed = packed_strides(shape);
  for (int i = 0; i < shape.ndim(); ++i)
    if (shape[i] != 1 && strides[i] != packed[i]) return false;
  return true;
}

// Copies `count` runs of `run` elements; kRun is `run` if it is known at compile time, so that a
// pixel is one or two moves.
template <int kRun, class T>
void copy_runs(T* out, const T* in, int64_t run, int64_t count, int64_t stride) {
  const auto length = kRun > 0 ? kRun : run;
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(out + i * length, in + i * stride, static_cast<size_t>(length) * sizeof(T));
}

// Copies elements of type T from `in`, which are `strides` elements apart (of any sign), to `out`,
// packed. No extent is 0.
template <class T>
void copy_strided(T* out, const T* in, const Shape& shape, const Shape& strides) {
  // The packed axes at the end form a run, the axis before them a row of runs; the others are
  // loops.
  int axes = shape.ndim();
  int64_t run = 1, count = 1, stride = 0;
  while (axes > 0 && (shape[axes - 1] == 1 || strides[axes - 1] == run)) run *= shape[--axes];
  if (axes > 0) {
    --axes;
    count = shape[axes];
    stride = strides[axes];
  }
  const auto copy = run == 1   ? copy_runs<1, T>
                    : run == 2 ? copy_runs<2, T>
                    : run == 3 ? copy_runs<3, T>
                    : run == 4 ? copy_runs<4, T>
                               : copy_runs<0, T>;
  // Reversed rows have their own kernel, which is not worth a call for the channels of a pixel.
  constexpr int64_t kWorthACall = 16;
  const int64_t bytes = run * static_cast<int64_t>(sizeof(T));
  const bool backwards = stride == -run && count >= kWorthACall;
  const MirrorFn mirror = backwards ? mirror_function(bytes) : nullptr;
  int64_t index[kMaxDims] = {};
  for (;;) {
    if (mirror != nullptr) mirror(out, in + (count - 1) * stride, 1, 0, count, bytes);
    else copy(out, in, run, count, stride);
    out += run * count;
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
