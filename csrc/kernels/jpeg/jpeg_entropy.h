// SPDX-License-Identifier: Apache-2.0
// Entropy decoding of sequential JPEG (ITU-T T.81, F.2.2): Huffman codes to coefficients.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/jpeg/jpeg_huffman.h"

namespace torchdali::kernels {

// Coefficients are in groups of four adjacent blocks of a row, ordered as [8 rows][4 blocks][8
// columns], so that a wide register holds a row of all four.
inline constexpr int kJpegGroup = 4, kJpegGroupSize = 64 * kJpegGroup;
inline constexpr int64_t jpeg_block_offset(int64_t block) {
  return (block >> 2) * kJpegGroupSize + (block & 3) * 8;
}

// T.81, figure A.6: which of the 64 coefficients, in natural order, is the k-th of the file.
inline constexpr std::array<uint8_t, 64> kJpegZigzag = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// Where in a group the k-th coefficient of a block is, from the block's first. Coefficients past
// the end have the place of the DC, which is written last.
inline constexpr auto kJpegPlaces = [] {
  std::array<uint8_t, 64 + kJpegEndOfBlock> places{};
  for (size_t k = 0; k < 64; ++k)
    places[k] = static_cast<uint8_t>(kJpegZigzag[k] / 8 * kJpegGroup * 8 + kJpegZigzag[k] % 8);
  return places;
}();

// The decoder's position in a byte string without stuffing. The top `count` bits of `bits` are
// those before `next`.
struct JpegBits {
  const uint8_t* next = nullptr;
  uint64_t bits = 0;
  int count = 0;
};

// One block of an MCU, in the order of the file.
struct JpegMcuBlock {
  const JpegDcTable* dc = nullptr;
  const JpegAcTable* ac = nullptr;
  int16_t* coefficients = nullptr;  // groups of the wanted blocks of this row; zero before
  uint8_t* last = nullptr;          // zigzag position of the last coefficient of each wanted block
  int* predictor = nullptr;         // DC of the component's previous block
  int per_mcu = 1;                  // blocks of this component side by side in an MCU
  int column = 0;                   // which of them this is
  int first = 0;                    // first column of wanted blocks, and their number
  int wanted = 0;
  bool dc_only = false;  // whether AC coefficients are skipped in wanted blocks too
};

inline constexpr int kJpegMaxBlocksPerMcu = 10;  // T.81, B.2.3
// An MCU never reads more bytes than this: 64 symbols of a code of 16 bits and a value, and the
// bytes that are read ahead. That many bytes must be readable after the end of the data.
inline constexpr size_t kJpegMcuBytes = 4096;
static_assert(kJpegMcuBytes > kJpegMaxBlocksPerMcu * 64 * (16 + kJpegMaxDcBits) / 8 + 32);

// Decodes MCUs [begin, end) of a row until bits.next passes `limit`, at least one. Returns the next
// MCU, or -1 if a code is invalid.
int decode_jpeg_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
                     const uint8_t* limit);

// MCUs [mcu, end) of a row, while they are decoded in turn with those of another lane. No block is
// `dc_only`.
struct JpegLane {
  JpegBits* bits = nullptr;
  std::span<const JpegMcuBlock> blocks;
  int mcu = 0, end = 0;
  const uint8_t* limit = nullptr;  // no MCU begins after it
  bool skips = false;              // no block is wanted; else those that are not are dropped
  // Where decoding stopped, if that was within an MCU: its block, the position in it, and its DC.
  bool inside = false;
  size_t block = 0;
  unsigned position = 0;
  int dc = 0;

  // Whether nothing is left to decode before the limit.
  bool is_done() const { return !inside && (mcu >= end || bits->next > limit); }
};
// Decodes both lanes in turn, a symbol of each, until one of them is done. This takes less time
// than one after the other, because the symbols of one do not wait for those of the other. Neither
// is done before. Returns false if a code is invalid.
bool decode_jpeg_lanes(JpegLane& a, JpegLane& b);
// Decodes the rest of the MCU in which a lane stopped. Returns false if a code is invalid.
bool finish_jpeg_mcu(JpegLane& lane);

// Coefficients as they are sent to a GPU: the DC of each block, then a unit for each nonzero
// coefficient. The low 6 bits of a unit are the coefficient's place in natural order, the others a
// value. A coefficient is the sum of its units; one that does not fit 10 bits has several.
using JpegUnit = uint16_t;
inline constexpr int kJpegUnitPlaceBits = 6;
// The most units of a block, and the number that may be written after the end: three for a value of
// kJpegMaxAcBits, one for each run of 16 zeros, DC and end.
inline constexpr int kJpegMaxUnits = 63 * 3 + 8;
// Where the units of a block begin: starts[block], counted from bases[block / kJpegBlocksPerBase].
inline constexpr int kJpegBlocksPerBase = 256;
static_assert(kJpegBlocksPerBase * kJpegMaxUnits < 1 << 16);
struct JpegPacking {
  JpegUnit* begin = nullptr;  // of all units
  JpegUnit* end = nullptr;    // of the units so far; kJpegMaxUnits may be written after it
  uint32_t* bases = nullptr;
  uint16_t* starts = nullptr;
  size_t blocks = 0;
};

// The same, but packs the blocks of MCUs [first, first + wanted) of the row, if `wanted` is not 0.
// Of `blocks`, only tables and predictors are used.
int pack_jpeg_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
                   const uint8_t* limit, int first, int wanted, JpegPacking& to);

}  // namespace torchdali::kernels
