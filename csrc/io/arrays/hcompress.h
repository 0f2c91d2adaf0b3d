// SPDX-License-Identifier: Apache-2.0
// Integers compressed by Hcompress: an H-transform, and a quadtree for each bit of its
// coefficients. Sources: R. L. White, M. Postman and M. G. Lattanzi, "Compression of the Guide Star
// Digitised Schmidt Plates" (1992), and FITS Standard 4.0 (IAU, 2018), section 10.4.4.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::io {

// At most so many integers come from `bytes` bytes. Of equal ones, which need a few bytes in
// any number, it is 2^24.
int64_t most_hcompress_integers(int64_t bytes);

struct HcompressRange {
  int64_t least, most;
};

// Decompresses an image of exactly `out.size()` pixels. `smooth`: the differences between neighbors
// that a lossy compression removed are interpolated. Values of lossy images are clamped to `range`.
// Raises kData if `in` is damaged, or has another number of pixels or other values.
void decompress_hcompress(std::span<const uint8_t> in, bool smooth, HcompressRange range,
                          std::span<int32_t> out);

}  // namespace torchdali::io
