// SPDX-License-Identifier: Apache-2.0
// Entropy decoding of progressive JPEG (ITU-T T.81, annex G): one scan adds bits to coefficients of
// the whole picture.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/jpeg/jpeg_entropy.h"

namespace torchdali::kernels {

// Of one component: blocks of one row, in groups.
struct JpegBlockRow {
  int16_t* coefficients = nullptr;
  uint64_t* present = nullptr;  // for each block, bit k: AC coefficient k is not zero
};

// A scan of AC coefficients [first, last] down to bit `low`.
struct JpegBand {
  const JpegBandTable* table = nullptr;
  int first = 1, last = 63, low = 0;
  int run = 0;  // blocks still to come of an end-of-band run
};

// Each decodes blocks (DC: MCUs) [begin, end) of a row until bits.next passes `limit`, at least
// one. Returns the one that comes next; -1 where the codes are broken. First for coefficients of
// which nothing is known, then for their next lower bit. Of JpegMcuBlock, `first` is 0 and what is
// about AC or about blocks that are wanted is not used.
int decode_jpeg_dc(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int low, int begin,
                   int end, const uint8_t* limit);
int refine_jpeg_dc(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int low, int begin,
                   int end, const uint8_t* limit);
int decode_jpeg_band(JpegBits& bits, JpegBand& band, const JpegBlockRow& row, int begin, int end,
                     const uint8_t* limit);
int refine_jpeg_band(JpegBits& bits, JpegBand& band, const JpegBlockRow& row, int begin, int end,
                     const uint8_t* limit);

}  // namespace torchdali::kernels
