// SPDX-License-Identifier: Apache-2.0
// Separable convolution of images and volumes with symmetric windows, and sums of several; borders
// are reflected (dcb|abcd|cba). Arithmetic is float. See docs/design/warp.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/dtype.h"

namespace torchdali::kernels {

// weights[0] is that of the center, weights[k] that of both elements at distance k. {1} changes
// nothing.
using HalfWindow = std::vector<float>;
struct SeparableFilter {
  std::array<HalfWindow, 3> windows = {{{1.0f}, {1.0f}, {1.0f}}};  // D, H, W
  float scale = 1.0f;  // of the result: windows of integers stay exact until it is applied
};

struct ConvolveJob {
  DType in_type = DType::kUInt8, out_type = DType::kUInt8;
  std::array<int64_t, 3> extents = {1, 1, 1};  // D, H, W
  int64_t channels = 1;                        // elements from one W position to the next
  std::span<const SeparableFilter> filters;    // the results are added; at least one
};

// Temporary memory of convolve(), in floats.
size_t convolve_scratch(const ConvolveJob& job);

// Rounds halves away from zero and saturates where the result is an integer. `scratch` is aligned
// to 64 bytes. Any thread; the result does not depend on the instruction set.
void convolve(const ConvolveJob& job, const void* in, void* out, float* scratch);

}  // namespace torchdali::kernels
