// SPDX-License-Identifier: Apache-2.0
// Connected components of an array of labels of any number of dimensions: elements of one label
// that touch along an axis (not at a corner) are one blob.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "core/layout.h"

namespace torchdali::kernels {

struct Blob {
  int64_t label;
  std::array<int64_t, kMaxDims> start, end;  // bounding box; `end` is exclusive
};

// All blobs except those of `background`, in the order of their first elements. `data` holds
// integers or bool; labels of uint64 beyond int64 wrap around. Time and memory are proportional to
// the number of runs of equal elements along the last axis, which are joined with union-find.
std::vector<Blob> find_blobs(const void* data, DType dtype, const Shape& shape, int64_t background);

}  // namespace torchdali::kernels
