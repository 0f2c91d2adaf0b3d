// SPDX-License-Identifier: Apache-2.0
// Decompresses deflate data (RFC 1951) from memory to memory. Made for filtered pixels, which are
// mostly literals: one lookup decodes two of them. Stops as soon as it has what is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace torchdali::kernels {

// Entries of a table, from bit 0 on: the number of bits that it takes; then
//   literals: their number (1 or 2) in bits 8 to 11, the bytes in bits 16 to 31;
//   others: kExceptional; a length or distance has its extra bits in bits 8 to 11, its base in bits
//   16 to 31; a link to a second table has the bits of its index there, and its position.
namespace inflate {
inline constexpr uint32_t kExceptional = 1u << 15, kLink = 1u << 14, kEnd = 1u << 13,
                          kInvalid = 1u << 12;
inline constexpr int kLiteralBits = 12, kDistanceBits = 9, kMaxCodeBits = 15;
inline constexpr int kSymbols = 288, kDistances = 32;
// A second table of n bits, at most 3 for literals and 6 for distances, has at least n + 1 codes.
inline constexpr size_t kLiteralRoom = (1u << kLiteralBits) + kSymbols / 2 * 8;
inline constexpr size_t kDistanceRoom = (1u << kDistanceBits) + kDistances / 2 * 64;
}  // namespace inflate

// Temporary memory of a call.
struct InflateTables {
  uint32_t literals[inflate::kLiteralRoom];
  uint32_t distances[inflate::kDistanceRoom];
  uint32_t singles[1u << (inflate::kLiteralBits - 1)];  // for make_pairs()
  uint16_t codes[inflate::kSymbols];                    // of the literals
  uint8_t lengths[inflate::kSymbols + inflate::kDistances];
};

// Reads of the input and writes of the output may go this far beyond their ends.
inline constexpr size_t kInflateInputSlack = 64, kInflateOutputSlack = 320;

struct Inflated {
  bool good = false;          // false: the data is broken, ends early, or is unusual
  bool ended = false;         // the last block has ended; otherwise `out` is full
  size_t used = 0;            // bytes of `in`, if it has ended
  uint32_t max_distance = 0;  // the farthest that a copy reached back
};

// Fills `out`. Data that goes on after that is no error if `partial`. Strict where it is in doubt:
// what is good here is good for zlib, too.
Inflated inflate_to(std::span<const uint8_t> in, std::span<uint8_t> out, bool partial,
                    InflateTables& tables);

namespace inflate {
// Makes the tables of a block from tables.lengths. Return false if the codes are invalid.
bool make_literals(InflateTables& tables, std::span<const uint8_t> lengths);
bool make_distances(InflateTables& tables, std::span<const uint8_t> lengths);
// The code of the lengths of codes: a table of kPrecodeBits, of symbols in bits 16 to 31.
inline constexpr int kPrecodeBits = 7, kPrecodeSymbols = 19;
bool make_precode(std::span<const uint8_t> lengths, uint32_t* table);
// Lets the entries of a literal that is followed by another one be for both.
void make_pairs(InflateTables& tables, std::span<const uint8_t> lengths);
}  // namespace inflate

}  // namespace torchdali::kernels
