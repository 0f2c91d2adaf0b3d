// SPDX-License-Identifier: Apache-2.0
// The checksums of FLAC frames: RFC 9639, sections 9.1.8 and 9.3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchdali::kernels::flac {

// CRC-8 with x^8 + x^2 + x + 1. It is 0 for a header followed by its checksum.
uint8_t crc8(const uint8_t* data, size_t size);
// CRC-16 with x^16 + x^15 + x^2 + 1. It is 0 for a frame followed by its checksum.
uint16_t crc16(const uint8_t* data, size_t size);

}  // namespace torchdali::kernels::flac
