// SPDX-License-Identifier: Apache-2.0
// Entropy decoding of progressive JPEG (ITU-T T.81, annex G): each scan adds bits to the
// coefficients of the whole picture.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/jpeg/jpeg_entropy.h"

namespace torchdali::kernels {

// Blocks of one row of a component, in groups.
struct JpegBlockRow {
  int16_t* coefficients = nullptr;
  uint64_t* present = nullptr;  // for each block, bit k: AC coefficient k is not zero
};

// A scan of AC coefficients [first, last] down to bit `low`.
struct JpegBand {
  const JpegBandTable* table = nullptr;
  int first = 1, last = 63, low = 0;
  int run = 0;  // remaining blocks of an end-of-band run
};

// Each decodes blocks (DC: MCUs) [begin, end) of a row until bits.next passes `limit`, at least
// one. Returns the next one, or -1 if a code is invalid. The first pair is for the first scan of
// coefficients, the second pair for their next lower bit. Of JpegMcuBlock, `first` is 0, and
// members about AC and wanted blocks are not used.
int decode_jpeg_dc(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int low, int begin,
                   int end, const uint8_t* limit);
int refine_jpeg_dc(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int low, int begin,
                   int end, const uint8_t* limit);
int decode_jpeg_band(JpegBits& bits, JpegBand& band, const JpegBlockRow& row, int begin, int end,
                     const uint8_t* limit);
int refine_jpeg_band(JpegBits& bits, JpegBand& band, const JpegBlockRow& row, int begin, int end,
                     const uint8_t* limit);

}  // namespace torchdali::kernels
