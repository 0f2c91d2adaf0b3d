// SPDX-License-Identifier: Apache-2.0
// Tables of the codes of deflate (RFC 1951, 3.2). Indices are the next bits of the stream, the
// first one lowest, so codes are kept with their bits reversed.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/png/inflate.h"

namespace torchdali::kernels::inflate {
namespace {

constexpr uint32_t kOneLiteral = 1u << 8, kTwoLiterals = 2u << 8, kLengthMask = 0x1F;

// RFC 1951, 3.2.5.
constexpr auto kLiteralSymbols = [] {
  std::array<uint32_t, kSymbols> entries{};
  for (uint32_t s = 0; s < 256; ++s) entries[s] = kOneLiteral | s << 16;
  entries[256] = kExceptional | kEnd;
  uint32_t base = 3;
  for (uint32_t i = 0; i < 28; ++i) {
    const uint32_t extra = i < 8 ? 0 : i / 4 - 1;
    entries[257 + i] = kExceptional | extra << 8 | base << 16;
    base += 1u << extra;
  }
  entries[285] = kExceptional | 258u << 16;
  entries[286] = entries[287] = kExceptional | kInvalid;
  return entries;
}();

constexpr auto kDistanceSymbols = [] {
  std::array<uint32_t, kDistances> entries{};
  uint32_t base = 1;
  for (uint32_t i = 0; i < 30; ++i) {
    const uint32_t extra = i < 2 ? 0 : i / 2 - 1;
    entries[i] = extra << 8 | base << 16;
    base += 1u << extra;
  }
  entries[30] = entries[31] = kExceptional | kInvalid;
  return entries;
}();

constexpr auto kPrecodeSymbolEntries = [] {
  std::array<uint32_t, kPrecodeSymbols> entries{};
  for (uint32_t s = 0; s < kPrecodeSymbols; ++s) entries[s] = s << 16;
  return entries;
}();

// The next code of `length` bits.
uint32_t next_code(uint32_t code, int length) {
  uint32_t bit = 1u << (length - 1);
  for (; code & bit; bit >>= 1) code ^= bit;
  return code | bit;
}

struct Sorted {
  std::array<uint16_t, kMaxCodeBits + 1> count{};  // of codes of each length
  std::array<uint16_t, kSymbols> symbols;          // by length, then by number
  int used = 0;                                    // of them
};

// Returns false unless the codes are complete. `single`: a lone code of one bit, or none, will do,
// as for zlib; the table is then full of invalid entries at first.
bool sort(std::span<const uint8_t> lengths, bool single, Sorted& sorted,
          std::span<uint32_t> table) {
  for (const uint8_t length : lengths) ++sorted.count[length];
  sorted.used = static_cast<int>(lengths.size()) - sorted.count[0];
  int left = 1;
  for (int length = 1; length <= kMaxCodeBits; ++length) {
    left = 2 * left - sorted.count[length];
    if (left < 0) return false;
  }
  if (left > 0) {
    const bool lone = sorted.used == 0 || (sorted.used == 1 && sorted.count[1] == 1);
    if (!single || !lone) return false;
    std::fill(table.begin(), table.end(), kExceptional | kInvalid);
  }
  std::array<uint16_t, kMaxCodeBits + 1> begin{};
  for (int length = 1; length < kMaxCodeBits; ++length)
    begin[length + 1] = static_cast<uint16_t>(begin[length] + sorted.count[length]);
  for (size_t symbol = 0; symbol < lengths.size(); ++symbol)
    if (lengths[symbol]) sorted.symbols[begin[lengths[symbol]]++] = static_cast<uint16_t>(symbol);
  return true;
}

// Codes of more than `bits` bits, from the `next`-th on: each set of them with the same first bits
// has a table after the main one.
bool make_second_tables(std::span<const uint8_t> lengths, const uint32_t* entries,
                        const Sorted& sorted, int next, uint32_t code, int bits, uint32_t* table,
                        size_t room) {
  const uint32_t mask = (1u << bits) - 1;
  std::array<uint32_t, kSymbols> codes;
  size_t end = size_t{1} << bits;
  while (next < sorted.used) {
    const uint32_t first = code & mask;
    int last = next, length = 0;
    for (; last < sorted.used; ++last) {
      // Codes get longer, and a longer one begins with the same bits in their order.
      const int longer = lengths[sorted.symbols[static_cast<size_t>(last)]];
      if ((code & mask) != first) break;
      length = longer;
      codes[static_cast<size_t>(last)] = code;
      code = next_code(code, longer);
    }
    const int index_bits = length - bits;
    if (end + (size_t{1} << index_bits) > room) return false;
    table[first] = kExceptional | kLink | static_cast<uint32_t>(end) << 16 |
                   static_cast<uint32_t>(index_bits) << 8;
    uint32_t* second = table + end;
    for (; next < last; ++next) {
      const size_t symbol = sorted.symbols[static_cast<size_t>(next)];
      const uint32_t entry = entries[symbol] | lengths[symbol];
      for (uint32_t i = codes[static_cast<size_t>(next)] >> bits; i < 1u << index_bits;
           i += 1u << (lengths[symbol] - bits))
        second[i] = entry;
    }
    end += size_t{1} << index_bits;
  }
  return true;
}

// A table of n bits is twice that of n - 1 bits, with the codes of n bits put in.
bool make_table(std::span<const uint8_t> lengths, const uint32_t* entries, int bits, bool single,
                uint32_t* table, size_t room, uint16_t* codes) {
  Sorted sorted;
  const size_t size = size_t{1} << bits;
  if (!sort(lengths, single, sorted, {table, size})) return false;
  uint32_t code = 0;
  int next = 0;
  if (sorted.used <= 1) {
    if (sorted.used == 0) return true;
    for (size_t i = 0; i < size; i += 2) table[i] = entries[sorted.symbols[0]] | 1;
    return true;
  }
  for (int length = 1; length <= bits; ++length) {
    const size_t half = size_t{1} << (length - 1);
    // Nothing is there yet before the first code.
    if (next > 0) std::memcpy(table + half, table, half * sizeof(uint32_t));
    for (int i = 0; i < sorted.count[static_cast<size_t>(length)]; ++i) {
      const size_t symbol = sorted.symbols[static_cast<size_t>(next++)];
      table[code] = entries[symbol] | static_cast<uint32_t>(length);
      if (codes) codes[symbol] = static_cast<uint16_t>(code);
      code = next_code(code, length);
    }
  }
  return make_second_tables(lengths, entries, sorted, next, code, bits, table, room);
}

}  // namespace

bool make_literals(InflateTables& tables, std::span<const uint8_t> lengths) {
  return make_table(lengths, kLiteralSymbols.data(), kLiteralBits, false, tables.literals,
                    kLiteralRoom, tables.codes);
}

bool make_distances(InflateTables& tables, std::span<const uint8_t> lengths) {
  return make_table(lengths, kDistanceSymbols.data(), kDistanceBits, true, tables.distances,
                    kDistanceRoom, nullptr);
}

bool make_precode(std::span<const uint8_t> lengths, uint32_t* table) {
  return make_table(lengths, kPrecodeSymbolEntries.data(), kPrecodeBits, false, table,
                    size_t{1} << kPrecodeBits, nullptr);
}

void make_pairs(InflateTables& tables, std::span<const uint8_t> lengths) {
  // The part of all literals that are the first of a pair, if literals were independent; below a
  // few percent, making pairs takes longer than they save.
  constexpr uint32_t kOne = 1u << 16, kWorthwhile = kOne / 32;
  std::array<uint32_t, kMaxCodeBits + 1> weight{};
  for (size_t s = 0; s < 256; ++s)
    if (lengths[s]) weight[lengths[s]] += kOne >> lengths[s];
  uint32_t paired = 0, shorter = 0;
  for (int first = kLiteralBits - 1; first >= 1; --first) {
    shorter += weight[static_cast<size_t>(kLiteralBits - first)];
    paired += static_cast<uint32_t>(uint64_t{weight[static_cast<size_t>(first)]} * shorter / kOne);
  }
  if (paired < kWorthwhile) return;
  std::memcpy(tables.singles, tables.literals, sizeof(tables.singles));
  for (uint32_t s = 0; s < 256; ++s) {
    const int length = lengths[s];
    if (length == 0 || length >= kLiteralBits) continue;
    const uint32_t entry = kLiteralSymbols[s] | static_cast<uint32_t>(length);
    const uint32_t room = static_cast<uint32_t>(kLiteralBits - length);
    uint32_t* to = tables.literals + tables.codes[s];
    for (uint32_t i = 0; i < 1u << room; ++i) {
      const uint32_t second = tables.singles[i];
      const uint32_t other = second & kLengthMask;
      const uint32_t both = kTwoLiterals | (static_cast<uint32_t>(length) + other) | s << 16 |
                            (second & 0xFF0000) << 8;
      const bool fits = (second & (kExceptional | kOneLiteral)) == kOneLiteral && other <= room;
      to[size_t{i} << length] = fits ? both : entry;
    }
  }
}

}  // namespace torchdali::kernels::inflate
