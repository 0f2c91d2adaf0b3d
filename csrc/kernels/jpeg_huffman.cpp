// SPDX-License-Identifier: Apache-2.0
// Canonical codes from the counts of a DHT segment (ITU-T T.81, C.2).
#include "kernels/jpeg_huffman.h"

#include <algorithm>

namespace torchdali::kernels {
namespace {

// What a symbol means, for a code of `length` bits. 0 where it has no meaning here.
template <int kLookup>
JpegSymbol symbol_of(uint8_t symbol, int length) {
  constexpr bool kDc = kLookup == kJpegDcLookup;
  const int bits = kDc ? symbol : symbol & 15, run = kDc ? 0 : symbol >> 4;
  if (bits > (kDc ? kJpegMaxDcBits : kJpegMaxAcBits)) return 0;
  // A run without a value: 15 is sixteen zeros, everything else ends the block.
  const int advance = kDc ? 0 : bits || run == 15 ? run + 1 : kJpegEndOfBlock;
  return make_jpeg_symbol(length, advance, bits);
}

template <int kLookup>
bool make(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
          JpegHuffmanTable<kLookup>& table) {
  constexpr bool kDc = kLookup == kJpegDcLookup;
  table.lookup.fill(0);
  table.symbols.fill(0);
  std::copy(symbols.begin(), symbols.end(), table.symbols.begin());
  uint32_t code = 0;
  int32_t index = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    const uint32_t count = counts[static_cast<size_t>(length - 1)];
    // No code may be all ones (T.81, C.2); libjpeg refuses it too.
    if (count && code + count >= uint32_t{1} << length) return false;
    table.first[static_cast<size_t>(length)] = index - static_cast<int32_t>(code);
    for (uint32_t i = 0; i < count; ++i, ++code, ++index) {
      const uint8_t symbol = table.symbols[static_cast<size_t>(index)];
      if (kDc && symbol > 15) return false;
      if (length > kLookup) continue;
      const auto begin = table.lookup.begin() + (code << (kLookup - length));
      std::fill_n(begin, size_t{1} << (kLookup - length), symbol_of<kLookup>(symbol, length));
    }
    table.end[static_cast<size_t>(length)] = count ? code << (16 - length) : 0;
  }
  return true;
}

template <int kLookup>
JpegSymbol find(const JpegHuffmanTable<kLookup>& table, uint64_t bits) {
  const auto top = static_cast<uint32_t>(bits >> 48);
  for (size_t length = 1; length <= 16; ++length) {
    if (top >= table.end[length]) continue;
    const int index = table.first[length] + static_cast<int>(top >> (16 - length));
    return symbol_of<kLookup>(table.symbols[static_cast<size_t>(index) & 255],
                              static_cast<int>(length));
  }
  return 0;
}

// The symbols at the top of `bits`, of which kJpegSkipLookup are known.
uint16_t symbols_ahead(const JpegAcTable& table, uint64_t bits) {
  unsigned total = 0, advance = 0;
  while (advance < 64) {
    const JpegSymbol s = table.lookup[bits << total >> (64 - kJpegAcLookup)];
    const unsigned next = advance + (s >> 8 & 0xFF);
    if (s == 0 || total + (s >> 16 & 0xFF) > kJpegSkipLookup || (next & 127) > 63) break;
    total += s & 0xFF;
    advance = next;
    if (total >= kJpegSkipLookup) break;
  }
  return static_cast<uint16_t>(total | advance << 8);
}

}  // namespace

bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegDcTable& table) {
  return make(counts, symbols, table);
}

bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegAcTable& table) {
  if (!make(counts, symbols, table)) return false;
  for (size_t i = 0; i < table.skip.size(); ++i)
    table.skip[i] = symbols_ahead(table, uint64_t{i} << (64 - kJpegSkipLookup));
  return true;
}

JpegSymbol jpeg_long_symbol(const JpegHuffmanTable<kJpegDcLookup>& table, uint64_t bits) { return find(table, bits); }
JpegSymbol jpeg_long_symbol(const JpegHuffmanTable<kJpegAcLookup>& table, uint64_t bits) { return find(table, bits); }

}  // namespace torchdali::kernels
