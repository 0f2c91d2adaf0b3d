// SPDX-License-Identifier: Apache-2.0
// The checksums of PNG files: of chunks (ISO/IEC 15948, annex D) and of what zlib compressed
// (RFC 1950).
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::kernels {

uint32_t crc32(std::span<const uint8_t> bytes);
uint32_t adler32(std::span<const uint8_t> bytes);

}  // namespace torchdali::kernels
