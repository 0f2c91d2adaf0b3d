// SPDX-License-Identifier: Apache-2.0
// Lookups of bytes in tables of 256 entries, and histograms of bytes.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

using ByteTable = uint8_t[256];

// out[i] = tables[i % channels][in[i]]; `count` is a multiple of `channels`. `out` and `in` do not
// overlap.
void look_up_bytes(uint8_t* out, const uint8_t* in, int64_t count, const ByteTable* tables,
                   int channels);
// Adds 1 to counts[i % channels][in[i]] for each i.
void count_bytes(uint32_t (*counts)[256], const uint8_t* in, int64_t count, int channels);

}  // namespace torchdali::kernels
