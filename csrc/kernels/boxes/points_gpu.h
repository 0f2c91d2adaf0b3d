// SPDX-License-Identifier: Apache-2.0
// Points and boxes: coord_flip, bb_flip, coord_transform.
#pragma once

#include "kernels/boxes/flip_boxes.h"
#include "kernels/gpu/functor.h"

namespace torchdali::gpu {

struct FlipPointsGrid {
  const FlipPointsTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const FlipPointsTask& task = tasks[t];
    const int64_t axis = i % task.components;
    const float x = static_cast<const float*>(task.in)[i];
    static_cast<float*>(task.out)[i] = task.add[axis] + task.factor[axis] * x;
  }
};

struct FlipBoxesGrid {
  const FlipBoxesTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const FlipBoxesTask& task = tasks[t];
    const float* in = static_cast<const float*>(task.in) + 4 * i;
    float* out = static_cast<float*>(task.out) + 4 * i;
    for (int axis = 0; axis < 2; ++axis) {
      const kernels::BoxSide side =
          kernels::mirrored_side({in[axis], in[axis + 2]}, task.ltrb, task.flips[axis]);
      out[axis] = side.begin;
      out[axis + 2] = side.end;
    }
  }
};

struct TransformPointsGrid {
  const TransformPointsTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const TransformPointsTask& task = tasks[t];
    Unravel index(i);
    const int64_t row = index.axis(task.rows);
    const float* factors = list_of<float>(blob, task.matrix) + row * task.columns;
    const int64_t from = index.rest() * task.columns;
    // In the order of transform_points().
    float sum = 0;
    for (int64_t c = 0; c < task.columns; ++c)
      sum += factors[c] * load_float(task.in, task.in_dtype, from + c);
    store_float(task.out, task.out_dtype, i, sum + list_of<float>(blob, task.offset)[row]);
  }
};

}  // namespace torchdali::gpu
