// SPDX-License-Identifier: Apache-2.0
// The axes of a copy, made as few as they can be.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/view.h"
#include "kernels/gpu/tasks.h"

namespace torchdali::gpu {

// One axis: distances in bytes, of any sign, and the part of it that the input has.
struct CopyAxis {
  int64_t extent = 1, in_stride = 0, out_stride = 0, low = 0, high = 0;
  bool whole() const { return low <= 0 && high >= extent; }
};

// Axes of an input of `shape` as they lie, whole, with dense outputs in the same order.
std::vector<CopyAxis> dense_axes(const Shape& shape, int64_t itemsize);
// Sets out_stride for a dense output with the axes in this order.
void make_dense(std::vector<CopyAxis>& axes, int64_t itemsize);

// The task that copies elements of `itemsize` bytes from `in` (of the element at index 0 of every
// axis) to `out`, which lies in an output of `out_bytes` bytes. `fill`: the bytes of what stands
// where the input has nothing.
CopyTask make_copy(const void* in, void* out, int64_t out_bytes, int64_t itemsize,
                   std::span<const CopyAxis> axes, uint64_t fill = 0);

// The task that fills `bytes` bytes with elements of `itemsize` bytes, `fill`.
CopyTask make_fill(void* out, int64_t bytes, int64_t itemsize, uint64_t fill);

}  // namespace torchdali::gpu
