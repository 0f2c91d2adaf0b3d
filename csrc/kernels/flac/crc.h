// SPDX-License-Identifier: Apache-2.0
// The checksums of FLAC frames: RFC 9639, sections 9.1.8 and 9.3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchdali::kernels::flac {

// x^8 + x^2 + x + 1, of a header. With its checksum after it, a header has 0.
uint8_t crc8(const uint8_t* data, size_t size);
// x^16 + x^15 + x^2 + 1, of a frame. With its checksum after it, a frame has 0.
uint16_t crc16(const uint8_t* data, size_t size);

}  // namespace torchdali::kernels::flac
