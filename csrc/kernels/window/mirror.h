// SPDX-License-Identifier: Apache-2.0
// Reverses the order of the pixels of rows.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// Writes `rows` rows one after the other, each `pixels` groups of `pixel_bytes` bytes in reverse
// order. The rows of `in` are `in_stride` bytes apart; `out` and `in` do not overlap.
using MirrorFn = void (*)(void* out, const void* in, int64_t rows, int64_t in_stride,
                          int64_t pixels, int64_t pixel_bytes);
// The function for pixels of this size. Look it up once per sample.
MirrorFn mirror_function(int64_t pixel_bytes);

}  // namespace torchdali::kernels
