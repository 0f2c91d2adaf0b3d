// SPDX-License-Identifier: Apache-2.0
// Copies as tasks of CopyKernel, over as few axes as possible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/view.h"
#include "kernels/window/copy_gpu.h"

namespace torchdali::gpu {

class Device;

// One axis: strides in bytes, of any sign, and the range of indices that the input has.
struct CopyAxis {
  int64_t extent = 1, in_stride = 0, out_stride = 0, low = 0, high = 0;
  bool whole() const { return low <= 0 && high >= extent; }
};

// The axes of a dense input of `shape`, all of it, and a dense output in the same order.
std::vector<CopyAxis> dense_axes(const Shape& shape, int64_t itemsize);
// Sets out_stride for a dense output with the axes in this order.
void make_dense(std::vector<CopyAxis>& axes, int64_t itemsize);

// The task that copies elements of `itemsize` bytes from `in` (the element at index 0 of every
// axis) to `out`, in an output of `out_bytes` bytes. `fill`: the bytes of elements that the input
// does not have.
CopyTask make_copy(const void* in, void* out, int64_t out_bytes, int64_t itemsize,
                   std::span<const CopyAxis> axes, uint64_t fill = 0);

// The task that fills `bytes` bytes with elements of `itemsize` bytes, `fill`.
CopyTask make_fill(void* out, int64_t bytes, int64_t itemsize, uint64_t fill);

// Queues these copies. Their addresses are not placeholders.
void queue_copies(const Device& device, std::span<const CopyTask> tasks);

}  // namespace torchdali::gpu
