// SPDX-License-Identifier: Apache-2.0
// y = x * factor + offset, element by element. Computed in float, in this order of operations, and
// converted as convert.h does: integers are rounded, halves away from zero, and saturate.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace torchdali::kernels {

// `count` elements of any types; `out` and `in` do not overlap.
void linear(void* out, DType to, const void* in, DType from, int64_t count, float factor,
            float offset);

}  // namespace torchdali::kernels
