// SPDX-License-Identifier: Apache-2.0
// Correlation of images and volumes with any filter: result(p) = sum of filter(k) * data(p + k -
// anchor). Arithmetic is float.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "kernels/border.h"

namespace torchdali::kernels {

struct CorrelateJob {
  DType in_type = DType::kUInt8, out_type = DType::kUInt8;
  std::array<int64_t, 3> in = {1, 1, 1};   // D, H, W
  std::array<int64_t, 3> out = {1, 1, 1};  // of the result
  int64_t channels = 1;                    // elements from one W position to the next
  const float* filter = nullptr;           // dense
  std::array<int64_t, 3> filter_extents = {1, 1, 1};
  std::array<int64_t, 3> anchor = {0, 0, 0};  // inside the filter
  Border border = Border::kReflect101;
  float fill = 0;  // with kConstant
};

// Temporary memory of correlate(), in floats.
size_t correlate_scratch(const CorrelateJob& job);

// Rounds halves away from zero and saturates where the result is an integer. `scratch` is aligned
// to 64 bytes. Any thread; the result does not depend on the instruction set. Taps of 0 are
// skipped.
void correlate(const CorrelateJob& job, const void* in, void* out, float* scratch);

}  // namespace torchdali::kernels
