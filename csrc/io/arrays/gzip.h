// SPDX-License-Identifier: Apache-2.0
// Gzip files in memory whose size is known, through zlib.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::io {

// At most so many bytes come from one: a match of 258 bytes takes two bits or more.
inline constexpr int64_t kMaxGzipRatio = 1032;

// Decompresses the first member of `in`, which must fill `out`. Raises kData if it is damaged or
// has another size, kUnsupported without zlib. What follows it is ignored.
void decompress_gzip(std::span<const uint8_t> in, std::span<uint8_t> out);

}  // namespace torchdali::io
