// SPDX-License-Identifier: Apache-2.0
// Huffman tables of JPEG (ITU-T T.81, annexes C and F.2.2), as lookup tables. An entry has the
// length of a code, the length of the value that follows it, and the distance that it moves in the
// block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace torchdali::kernels {

// One symbol, in four bytes from the lowest up:
// 0: bits of code and value together; 0 where the lookup does not decide (a longer code, or none)
// 1: AC: positions in zigzag order to move; DC: 0
// 2: bits of the code
// 3: 63 - bits of the value: brings a value from the top of 64 bits but one down
using JpegSymbol = uint32_t;
constexpr JpegSymbol make_jpeg_symbol(int code, int advance, int value) {
  return static_cast<JpegSymbol>((63 - value) << 24 | code << 16 | advance << 8 | (code + value));
}

// An end of block moves past every position that a real coefficient can have.
inline constexpr int kJpegEndOfBlock = 128;
// Bits of values in 8-bit sequential JPEG; more are invalid, or belong to another process.
inline constexpr int kJpegMaxDcBits = 11, kJpegMaxAcBits = 10;
inline constexpr int kJpegDcLookup = 9, kJpegBandLookup = 10, kJpegAcLookup = 11;

template <int kLookup>
struct JpegHuffmanTable {
  std::array<JpegSymbol, size_t{1} << kLookup> lookup;
  // Codes of `length` bits, left aligned in 16 bits, are below end[length]; their symbols begin at
  // first[length] minus the code.
  std::array<uint32_t, 18> end;
  std::array<int32_t, 18> first;
  std::array<uint8_t, 256> symbols;
};
using JpegDcTable = JpegHuffmanTable<kJpegDcLookup>;
// AC of progressive files: the value of an end of band is the number of further blocks that it ends
// (T.81, G.1.2.2).
using JpegBandTable = JpegHuffmanTable<kJpegBandLookup>;

// For blocks that are skipped: all symbols that fit the lookup, at once. The low 6 bits are their
// length in bits (at most 22), the others the distance that they advance, plus kJpegSkipsEnd if the
// last one is an end of block. 0 if the first symbol does not fit, and everywhere before
// add_jpeg_skip().
inline constexpr int kJpegSkipLookup = 12;
inline constexpr unsigned kJpegSkipsEnd = 512;
struct JpegAcTable : JpegHuffmanTable<kJpegAcLookup> {
  std::array<uint16_t, size_t{1} << kJpegSkipLookup> skip;
  bool has_skip = false;
};
void add_jpeg_skip(JpegAcTable& table);

// `counts`: codes of 1 to 16 bits; `symbols` in the order of their codes, at most 256. Returns
// false if the counts do not describe a prefix code, or one with another number of symbols.
bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegDcTable& table);
bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegAcTable& table);
bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegBandTable& table);

// The entry of a symbol with a code of `length` bits. 0 if the symbol is invalid here.
template <int kLookup>
inline JpegSymbol jpeg_symbol(uint8_t symbol, int length) {
  constexpr bool kDc = kLookup == kJpegDcLookup;
  const int bits = kDc ? symbol : symbol & 15, run = kDc ? 0 : symbol >> 4;
  if (bits > (kDc ? kJpegMaxDcBits : kJpegMaxAcBits)) return 0;
  // A run without a value: 15 is sixteen zeros, all others end the block.
  if (!kDc && bits == 0 && run < 15)
    return make_jpeg_symbol(length, kJpegEndOfBlock, kLookup == kJpegBandLookup ? run : 0);
  return make_jpeg_symbol(length, kDc ? 0 : run + 1, bits);
}

// The symbol at the top of `bits`, of any length; 0 if there is none. Inline, because a call would
// spill the registers of the surrounding loops.
template <int kLookup>
inline JpegSymbol jpeg_long_symbol(const JpegHuffmanTable<kLookup>& table, uint64_t bits) {
  const auto top = static_cast<uint32_t>(bits >> 48);
  for (size_t length = 1; length <= 16; ++length) {
    if (top >= table.end[length]) continue;
    const int index = table.first[length] + static_cast<int>(top >> (16 - length));
    return jpeg_symbol<kLookup>(table.symbols[static_cast<size_t>(index) & 255],
                                static_cast<int>(length));
  }
  return 0;
}

}  // namespace torchdali::kernels
