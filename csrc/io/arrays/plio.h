// SPDX-License-Identifier: Apache-2.0
// Integers compressed as line lists of IRAF's pixel lists (PLIO), as FITS Standard 4.0 (IAU, 2018),
// section 10.4.3, has them: masks with values from 0 to 2^27 - 1.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::io {

// At most so many integers come from `bytes` bytes.
int64_t most_plio_integers(int64_t bytes);

// Decompresses exactly `out.size()` integers; those after the last instruction are 0. Raises kData
// if `in` is damaged or has more of them.
void decompress_plio(std::span<const uint8_t> in, std::span<int32_t> out);

}  // namespace torchdali::io
