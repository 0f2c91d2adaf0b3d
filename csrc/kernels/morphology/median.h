// SPDX-License-Identifier: Apache-2.0
// Median filter: the middle element, in order of size, of a rectangle around each element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace torchdali::kernels {

struct MedianJob {
  DType type = DType::kUInt8;  // see is_median_type()
  int64_t height = 0, width = 0, channels = 1;
  int64_t window_y = 3, window_x = 3;  // odd
};

constexpr bool is_median_type(DType t) {
  return t == DType::kUInt8 || t == DType::kUInt16 || t == DType::kInt16 || t == DType::kInt32 ||
         t == DType::kFloat;
}

// Temporary memory of median(), in bytes.
size_t median_scratch(const MedianJob& job);

// `in` and `out` are [height, width, channels], not empty. Elements outside of the image are those
// of its edge. `scratch` is aligned to 64 bytes.
void median(const MedianJob& job, const void* in, void* out, void* scratch);

}  // namespace torchdali::kernels
