// SPDX-License-Identifier: Apache-2.0
// Permutes the axes of an array.
#pragma once

#include <cstdint>
#include <span>

#include "core/layout.h"

namespace torchdali::kernels {

// Axis i of `out` is axis perm[i] of `in`, which has `shape`; elements of 1, 2, 4 or 8 bytes. No
// extent is 0. The arrays do not overlap.
void transpose_axes(void* out, const void* in, const Shape& shape, std::span<const int> perm,
                    int64_t itemsize);

}  // namespace torchdali::kernels
