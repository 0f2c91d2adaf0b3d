// SPDX-License-Identifier: Apache-2.0
// Huffman tables of JPEG (ITU-T T.81, annexes C and F.2.2), made for looking up: one entry tells
// the length of a code, the length of the value that follows it, and how far it moves in the block.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace torchdali::kernels {

// One symbol. `total` is 0 where the lookup does not decide: a longer code, or none at all.
struct JpegSymbol {
  uint8_t total;    // bits of code and value together
  uint8_t advance;  // AC: positions in zigzag order to move; DC: 0
  uint8_t code;     // bits of the code
  uint8_t shift;    // 63 - bits of the value: brings a value from the top of 64 bits but one down
};

// An end of block moves past every position that a real coefficient can have.
inline constexpr int kJpegEndOfBlock = 128;
// Values that 8-bit sequential JPEG can have; more is broken, or meant for another process.
inline constexpr int kJpegMaxDcBits = 11, kJpegMaxAcBits = 10;
inline constexpr int kJpegDcLookup = 9, kJpegAcLookup = 11;

template <int kLookup>
struct JpegHuffmanTable {
  static constexpr int kLookupBits = kLookup;
  std::array<JpegSymbol, size_t{1} << kLookup> lookup;
  // Codes of `length` bits, left aligned in 16 bits, are below end[length]; their symbols begin at
  // first[length] minus the code.
  std::array<uint32_t, 18> end;
  std::array<int32_t, 18> first;
  std::array<uint8_t, 256> symbols;
  int count = 0;
};
using JpegDcTable = JpegHuffmanTable<kJpegDcLookup>;
using JpegAcTable = JpegHuffmanTable<kJpegAcLookup>;

// `counts`: codes of 1 to 16 bits; `symbols` in the order of their codes, at most 256. False where
// the counts describe no prefix code.
bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegDcTable& table);
bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegAcTable& table);

// What a symbol means, for a code of `length` bits. `total` is 0 where it has no meaning here.
template <int kLookup>
inline JpegSymbol jpeg_symbol(uint8_t symbol, int length) {
  constexpr bool kDc = kLookup == kJpegDcLookup;
  const int bits = kDc ? symbol : symbol & 15, run = kDc ? 0 : symbol >> 4;
  if (bits > (kDc ? kJpegMaxDcBits : kJpegMaxAcBits)) return {0, 0, 0, 0};
  // A run without a value: 15 is sixteen zeros, everything else ends the block.
  const int advance = kDc ? 0 : bits || run == 15 ? run + 1 : kJpegEndOfBlock;
  return {static_cast<uint8_t>(length + bits), static_cast<uint8_t>(advance),
          static_cast<uint8_t>(length), static_cast<uint8_t>(63 - bits)};
}

// The symbol at the top of `bits`, whatever its length; total is 0 where there is none.
template <int kLookup>
inline JpegSymbol jpeg_long_symbol(const JpegHuffmanTable<kLookup>& table, uint64_t bits) {
  const auto top = static_cast<uint32_t>(bits >> 48);
  for (int length = 1; length <= 16; ++length) {
    if (top >= table.end[length]) continue;
    const int index = table.first[length] + static_cast<int>(top >> (16 - length));
    return jpeg_symbol<kLookup>(table.symbols[static_cast<size_t>(index) & 255], length);
  }
  return {0, 0, 0, 0};
}

}  // namespace torchdali::kernels
