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
// 1: AC: positions in zigzag order to move, kJpegUndecided where the lookup does not decide; DC: 0
// 2, 3: what to add to those bits, as a number, to get the value, modulo 2^16. It takes the code
//       away and depends on the value's first bit, its sign, so the lookup has that bit, too.
using JpegSymbol = uint32_t;

// An end of block moves past every position that a real coefficient can have.
inline constexpr int kJpegEndOfBlock = 128;
// The same for what the lookup does not decide, so that the inner loop tests the position only. It
// is farther than an end of block from any position.
inline constexpr unsigned kJpegUndecided = 192;
// A lookup of AC leaves out symbols of more bits, so that three fit the bits that are read ahead.
inline constexpr unsigned kJpegMaxLookupBits = 18;
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
// length in bits (at most kJpegMaxLookupBits), the others the distance that they advance, plus
// kJpegSkipsEnd if the last one is an end of block. 0 if the first symbol does not fit, and
// everywhere before add_jpeg_skip().
inline constexpr int kJpegSkipLookup = 12;
inline constexpr unsigned kJpegSkipsEnd = 512;
struct JpegAcTable : JpegHuffmanTable<kJpegAcLookup> {
  std::array<uint16_t, size_t{1} << kJpegSkipLookup> skip;
  bool has_skip = false;
  // Where in a group the coefficient of a position is, as in kJpegPlaces. It is here so that one
  // register addresses both.
  std::array<uint8_t, 256> places;
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

// A code of `length` bits, 0 if there is none, and what it stands for.
struct JpegCode {
  int length;
  uint8_t symbol;
};
// The code that 16 bits begin with. Inline, because a call would spill the registers of the
// surrounding loops.
template <int kLookup>
inline JpegCode jpeg_code(const JpegHuffmanTable<kLookup>& table, uint32_t bits) {
  for (size_t length = 1; length <= 16; ++length) {
    if (bits >= table.end[length]) continue;
    const int index = table.first[length] + static_cast<int>(bits >> (16 - length));
    return {static_cast<int>(length), table.symbols[static_cast<size_t>(index) & 255]};
  }
  return {};
}

// Bits of the value that follows a code.
template <int kLookup>
constexpr int jpeg_value_bits(uint8_t symbol) {
  constexpr bool kBand = kLookup == kJpegBandLookup;
  if (kLookup == kJpegDcLookup) return symbol;
  return kBand && symbol % 16 == 0 && symbol < 0xF0 ? symbol >> 4 : symbol & 15;
}

// The entry of the symbol with the code that `bits`, 16 and the sign, begin with. 0 if the symbol
// is invalid here.
template <int kLookup>
inline JpegSymbol jpeg_symbol(JpegCode of, uint32_t bits) {
  constexpr bool kDc = kLookup == kJpegDcLookup;
  const int value = jpeg_value_bits<kLookup>(of.symbol);
  // A run without a value: 15 is sixteen zeros, all others end the block.
  const bool ends = !kDc && of.symbol % 16 == 0 && of.symbol < 0xF0;
  if (!ends && value > (kDc ? kJpegMaxDcBits : kJpegMaxAcBits)) return 0;
  const uint32_t code = bits >> (17 - of.length);
  const uint32_t range = (1u << value) - 1;
  uint32_t offset = 0 - (code << value);
  if (ends) offset += kLookup == kJpegBandLookup ? range + 1 : 0;
  else if ((bits >> (16 - of.length) & 1) == 0) offset -= range;
  const int advance = ends ? kJpegEndOfBlock : kDc ? 0 : (of.symbol >> 4) + 1;
  return offset << 16 | static_cast<uint32_t>(advance << 8 | (of.length + value));
}

// The symbol at the top of `bits`, of any length; 0 if there is none.
template <int kLookup>
inline JpegSymbol jpeg_long_symbol(const JpegHuffmanTable<kLookup>& table, uint64_t bits) {
  const JpegCode code = jpeg_code(table, static_cast<uint32_t>(bits >> 48));
  return code.length ? jpeg_symbol<kLookup>(code, static_cast<uint32_t>(bits >> 47)) : 0;
}

}  // namespace torchdali::kernels
