// SPDX-License-Identifier: Apache-2.0
// Points and boxes: coord_flip, bb_flip, coord_transform.
#pragma once

#include "kernels/boxes/flip_boxes.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// add + factor * x for each coordinate of points of float32.
struct FlipPointsTask : TaskBase {
  int components = 1;
  float factor[3] = {}, add[3] = {};
};
struct FlipPointsKernel : Kernel<FlipPointsTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t axis = i % task.components;
    const float x = static_cast<const float*>(task.in)[i];
    static_cast<float*>(task.out)[i] = task.add[axis] + task.factor[axis] * x;
  }
};
TORCHDALI_GPU_KERNEL(FlipPointsKernel)

// kernels/boxes/flip_boxes.h, of float32. `size` counts boxes.
struct FlipBoxesTask : TaskBase {
  bool ltrb = false;
  bool flips[2] = {};  // x and y
};
struct FlipBoxesKernel : Kernel<FlipBoxesTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
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
TORCHDALI_GPU_KERNEL(FlipBoxesKernel)

// kernels/boxes/linear_points.h. `size` counts components of the output.
struct TransformPointsTask : TypedTask {
  int64_t rows = 1, columns = 1;
  BlobOffset matrix = 0, offset = 0;  // float[rows, columns], float[rows]
};
struct TransformPointsKernel : Kernel<TransformPointsTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const int64_t row = index.axis(task.rows);
    const float* factors = list<float>(task.matrix) + row * task.columns;
    const int64_t from = index.rest() * task.columns;
    // In the order of transform_points().
    float sum = 0;
    for (int64_t c = 0; c < task.columns; ++c)
      sum += factors[c] * load_float(task.in, task.in_dtype, from + c);
    store_float(task.out, task.out_dtype, i, sum + list<float>(task.offset)[row]);
  }
};
TORCHDALI_GPU_KERNEL(TransformPointsKernel)

}  // namespace torchdali::gpu
