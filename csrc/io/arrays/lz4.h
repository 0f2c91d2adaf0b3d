// SPDX-License-Identifier: Apache-2.0
// Decompression of LZ4 blocks. Format: lz4_Block_format.md of the LZ4 project.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::io {

// Decompresses a block into `out`; returns the number of bytes, at most its size. Raises kData if
// the block is damaged or has more.
int64_t decompress_lz4(std::span<const uint8_t> block, std::span<uint8_t> out);

}  // namespace torchdali::io
