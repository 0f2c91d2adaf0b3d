// SPDX-License-Identifier: Apache-2.0
// Dequantization and inverse DCT of JPEG, bit-identical to libjpeg-turbo's JDCT_ISLOW on x86, even
// if an invalid file makes 16 bits overflow.
#pragma once

#include <cstdint>

#include "kernels/jpeg/jpeg_entropy.h"

namespace torchdali::kernels {

// Transforms `groups` groups of coefficients (jpeg_entropy.h) and leaves them zero. Each results in
// 8 rows of 32 samples at `out`, groups side by side, rows `stride` bytes apart. `quant`: 64
// numbers in natural order. `last`: for each block, the last coefficient that may be nonzero; 4 per
// group. Alignment: coefficients 64 bytes.
void jpeg_idct(int16_t* coefficients, const uint8_t* last, int64_t groups, const int16_t* quant,
               uint8_t* out, int64_t stride);

// The same at a reduced size: `size` x `size` samples of a block, 4, 2 or 1, each the mean of those
// of the full transform that it covers. Groups have `size` rows of 4 * `size` samples.
void jpeg_idct_scaled(int size, int16_t* coefficients, const uint8_t* last, int64_t groups,
                      const int16_t* quant, uint8_t* out, int64_t stride);

}  // namespace torchdali::kernels
