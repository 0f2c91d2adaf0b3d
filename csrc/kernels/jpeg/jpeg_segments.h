// SPDX-License-Identifier: Apache-2.0
// What the GPU needs to read the codes of a JPEG: where segments of the scan begin, and Huffman
// tables without pointers. Plain data, copied as bytes.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::kernels {

// The state of the decoder before a segment: bits of the copied bytes before its first code,
// stuffing included, and the DC coefficients that the next ones are coded relative to.
struct JpegSegment {
  uint16_t position[2] = {};
  int16_t dc[3] = {};
  constexpr uint32_t bits() const { return position[0] | static_cast<uint32_t>(position[1]) << 16; }
};
static_assert(sizeof(JpegSegment) == 10 && alignof(JpegSegment) == 2);

// A Huffman table. An entry is a symbol, in 16 bits from the lowest up:
// 5 bits: length of code and value together
// 4 bits: length of the value
// 7 bits: positions to move in the block, at least 1, so that every loop over symbols ends. A DC
//         moves to position 1, an end of block past all positions.
struct JpegCodeTable {
  static constexpr int kLookup = 10, kLong = 16 - kLookup;
  static constexpr unsigned kLengthBits = 5, kValueBits = 4;
  static constexpr unsigned kEnd = 64u << (kLengthBits + kValueBits);

  uint16_t lookup[1 << kLookup];  // by the next bits; 0: the code is longer, or there is none
  // Longer codes: those of kLookup + 1 + n bits, left aligned in 16 bits, are below end[n]; their
  // symbols begin at first[n] plus the code, modulo 256.
  uint16_t end[kLong], first[kLong];
  uint16_t symbols[256];  // without the length of the code
  uint8_t places[64];     // kJpegZigzag, where the GPU can index it

  // The symbol that 32 bits begin with. Bits that are no code end the block.
  constexpr unsigned find(uint32_t bits) const {
    const unsigned entry = lookup[bits >> (32 - kLookup)];
    return entry != 0 ? entry : find_long(bits >> 16);
  }

 private:
  constexpr unsigned find_long(uint32_t bits) const {
    for (int n = 0; n < kLong; ++n)
      if (bits < end[n])
        return symbols[(first[n] + (bits >> (kLong - 1 - n))) & 255] +
               static_cast<unsigned>(kLookup + 1 + n);
    return kEnd | 16;
  }
};
static_assert(sizeof(JpegCodeTable) % sizeof(uint32_t) == 0);

// Like make_jpeg_table(), for a table of DC or AC.
bool make_jpeg_code_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                          bool dc, JpegCodeTable& table);

}  // namespace torchdali::kernels
