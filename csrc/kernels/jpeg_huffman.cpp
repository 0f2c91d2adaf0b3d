// SPDX-License-Identifier: Apache-2.0
// Canonical codes from the counts of a DHT segment (ITU-T T.81, C.2).
#include "kernels/jpeg_huffman.h"

#include <algorithm>

namespace torchdali::kernels {
namespace {

template <int kLookup>
bool make(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
          JpegHuffmanTable<kLookup>& table) {
  constexpr bool kDc = kLookup == kJpegDcLookup;
  table.lookup.fill({0, 0, 0, 0});
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
      std::fill_n(begin, size_t{1} << (kLookup - length), jpeg_symbol<kLookup>(symbol, length));
    }
    table.end[static_cast<size_t>(length)] = count ? code << (16 - length) : 0;
  }
  table.count = index;
  return true;
}

}  // namespace

bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegDcTable& table) {
  return make(counts, symbols, table);
}

bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegAcTable& table) {
  return make(counts, symbols, table);
}

}  // namespace torchdali::kernels
