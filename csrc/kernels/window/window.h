// SPDX-License-Identifier: Apache-2.0
// Copies of a box of an N-dimensional array into another array: the runs that are contiguous in
// both.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "core/layout.h"

namespace torchdali::kernels {

// The part of a window that is inside an array of shape `in`: its start in the array and in the
// window, and its extents.
struct Overlap {
  Shape from, to, shape;
  bool empty = false;

  Overlap(const Shape& in, const Shape& anchor, const Shape& window) {
    for (int i = 0; i < in.ndim(); ++i) {
      const int64_t begin = std::max<int64_t>(anchor[i], 0);
      const int64_t end = std::min(anchor[i] + window[i], in[i]);
      from.push_back(begin);
      to.push_back(begin - anchor[i]);
      shape.push_back(std::max<int64_t>(end - begin, 0));
      empty |= end <= begin;
    }
  }
};

// Calls run(offset in `in`, offset in `out`, count) for each contiguous run of a box of `extent`
// elements, placed at `from` in an array of shape `in` and at `to` in one of shape `out`. Offsets
// and counts are in elements. The box is not empty.
template <class Run>
void for_each_run(const Shape& in, const Shape& from, const Shape& out, const Shape& to,
                  const Shape& extent, Run&& run) {
  const int ndim = in.ndim();
  // Axes after `split` are complete in both arrays, so they and the split axis form one run.
  int split = ndim - 1;
  while (split > 0 && extent[split] == in[split] && extent[split] == out[split]) --split;
  int64_t in_stride = 1, out_stride = 1, in_offset = 0, out_offset = 0, count = 1;
  Shape in_strides = in, out_strides = out;
  for (int i = ndim - 1; i >= 0; --i) {
    in_strides[i] = in_stride;
    out_strides[i] = out_stride;
    in_offset += from[i] * in_stride;
    out_offset += to[i] * out_stride;
    if (i >= split) count *= extent[i];
    in_stride *= in[i];
    out_stride *= out[i];
  }
  int64_t index[kMaxDims] = {};
  for (;;) {
    run(in_offset, out_offset, count);
    int axis = split - 1;
    for (; axis >= 0; --axis) {
      in_offset += in_strides[axis];
      out_offset += out_strides[axis];
      if (++index[axis] < extent[axis]) break;
      in_offset -= extent[axis] * in_strides[axis];
      out_offset -= extent[axis] * out_strides[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace torchdali::kernels
