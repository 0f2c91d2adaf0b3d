// SPDX-License-Identifier: Apache-2.0
// Dilation and erosion: the largest or the smallest element of a rectangle around each element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "kernels/border.h"

namespace torchdali::kernels {

// The elements of a rectangle along one axis: `before` of them before the element, `after`
// after it.
struct MorphologyReach {
  int64_t before = 0, after = 0;
  constexpr int64_t size() const { return before + 1 + after; }
};

struct MorphologyJob {
  DType type = DType::kUInt8;  // see is_morphology_type()
  bool dilate = true;
  int64_t height = 0, width = 0, channels = 1;
  MorphologyReach y, x;
  Border border = Border::kConstant;  // kConstant: elements outside of the image do not count
};

constexpr bool is_morphology_type(DType t) {
  return t == DType::kBool || t == DType::kUInt8 || t == DType::kUInt16 || t == DType::kInt16 ||
         t == DType::kInt32 || t == DType::kFloat;
}

// Temporary memory of morphology(), in bytes.
size_t morphology_scratch(const MorphologyJob& job);

// `in` and `out` are [height, width, channels], not empty. `scratch` is aligned to 64 bytes.
void morphology(const MorphologyJob& job, const void* in, void* out, void* scratch);

}  // namespace torchdali::kernels
