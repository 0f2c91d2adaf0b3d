// SPDX-License-Identifier: Apache-2.0
// Bytes through a table of 256 entries, and how often each byte value occurs.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

using ByteTable = uint8_t[256];

// out[i] = tables[i % channels][in[i]]; `count` is a multiple of `channels`. `out` and `in` do not
// overlap.
void look_up_bytes(uint8_t* out, const uint8_t* in, int64_t count, const ByteTable* tables,
                   int channels);
// Adds to counts[i % channels][in[i]].
void count_bytes(uint32_t (*counts)[256], const uint8_t* in, int64_t count, int channels);

}  // namespace torchdali::kernels
