// SPDX-License-Identifier: Apache-2.0
// Integers compressed by the Rice algorithm, as FITS Standard 4.0 (IAU, 2018), section 10.4.1, has
// it.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::io {

// At most so many integers come from `bytes` bytes, in blocks of `block` integers of `width` bytes.
int64_t most_rice_integers(int64_t bytes, int64_t block, int64_t width);

// Decompresses exactly `out.size()` integers of `width` bytes (1, 2 or 4), in blocks of `block`.
// Those of one byte are unsigned. Raises kData if `in` is damaged or has another number of them.
void decompress_rice(std::span<const uint8_t> in, int64_t block, int64_t width,
                     std::span<int32_t> out);

}  // namespace torchdali::io
