// SPDX-License-Identifier: Apache-2.0
// Reverses the order of the pixels of a row.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// `pixels` groups of `pixel_bytes` bytes, in reverse order; `out` and `in` do not overlap.
using MirrorFn = void (*)(void* out, const void* in, int64_t pixels, int64_t pixel_bytes);
// The function for pixels of this size. Look it up once per sample.
MirrorFn mirror_function(int64_t pixel_bytes);

}  // namespace torchdali::kernels
