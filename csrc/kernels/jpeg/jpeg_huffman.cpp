// SPDX-License-Identifier: Apache-2.0
// Canonical codes from the counts of a DHT segment (ITU-T T.81, C.2).
#include "kernels/jpeg/jpeg_huffman.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace torchdali::kernels {
namespace {

// Writes the entries of a symbol: two, for a value of either sign.
template <int kLookup>
void fill(JpegHuffmanTable<kLookup>& table, JpegCode of, uint32_t code) {
  const int value = jpeg_value_bits<kLookup>(of.symbol), known = kLookup - of.length;
  if (value > 0 && known == 0) return;  // the sign is not
  if (kLookup == kJpegAcLookup && static_cast<unsigned>(of.length + value) > kJpegMaxLookupBits)
    return;
  const auto begin = table.lookup.begin() + (code << known);
  const auto half = (size_t{1} << known) / (value > 0 ? 2 : 1);
  const uint32_t bits = code << (17 - of.length);
  std::fill_n(begin, half, jpeg_symbol<kLookup>(of, bits));
  if (value > 0)
    std::fill_n(begin + static_cast<std::ptrdiff_t>(half), half,
                jpeg_symbol<kLookup>(of, bits | 1u << (16 - of.length)));
}

template <int kLookup>
bool make(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
          JpegHuffmanTable<kLookup>& table) {
  constexpr bool kDc = kLookup == kJpegDcLookup;
  const size_t codes = std::accumulate(counts.begin(), counts.end(), size_t{0});
  if (codes != symbols.size() || codes > table.symbols.size()) return false;
  table.lookup.fill(0);
  table.symbols.fill(0);
  std::copy(symbols.begin(), symbols.end(), table.symbols.begin());
  uint32_t code = 0;
  int32_t index = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    const uint32_t count = counts[static_cast<size_t>(length - 1)];
    // No code may be all ones (T.81, C.2); libjpeg rejects it too.
    if (count && code + count >= uint32_t{1} << length) return false;
    table.first[static_cast<size_t>(length)] = index - static_cast<int32_t>(code);
    for (uint32_t i = 0; i < count; ++i, ++code, ++index) {
      const uint8_t symbol = table.symbols[static_cast<size_t>(index)];
      if (kDc && symbol > 15) return false;
      if (length <= kLookup) fill(table, {length, symbol}, code);
    }
    table.end[static_cast<size_t>(length)] = count ? code << (16 - length) : 0;
  }
  return true;
}

}  // namespace

bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegDcTable& table) {
  return make(counts, symbols, table);
}

bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegAcTable& table) {
  table.skip.fill(0);
  table.has_skip = false;
  return make(counts, symbols, table);
}

bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegBandTable& table) {
  return make(counts, symbols, table);
}

// What follows the first symbol does not depend on its value: with n known bits, the entries of a
// symbol are copies of those for the remaining bits, plus the symbol.
void add_jpeg_skip(JpegAcTable& table) {
  struct Code {
    unsigned begin, length, total, step;  // begin: left aligned in kJpegSkipLookup bits
  };
  std::array<Code, std::tuple_size_v<decltype(table.symbols)>> codes;
  size_t count = 0;
  for (unsigned i = 0; i < table.skip.size();) {
    constexpr int kRest = 16 - kJpegSkipLookup;
    const JpegCode code = jpeg_code(table, i << kRest);
    const auto length = static_cast<unsigned>(code.length);
    if (length == 0 || length > kJpegSkipLookup) {
      ++i;
      continue;
    }
    const JpegSymbol s = jpeg_symbol<kJpegAcLookup>(code, i << (kRest + 1));
    const unsigned advance = s >> 8 & 0xFF, total = s & 0xFF;
    const unsigned step = advance == kJpegEndOfBlock ? kJpegSkipsEnd : advance;
    if (s != 0 && total <= kJpegMaxLookupBits)
      codes[count++] = {i, length, total, total | step << 6};
    i += 1u << (kJpegSkipLookup - length);
  }
  // Entries for n bits begin at 2^n; the last ones are the table.
  std::array<uint16_t, size_t{2} << kJpegSkipLookup> all{};
  for (unsigned n = 1; n <= kJpegSkipLookup; ++n) {
    for (size_t c = 0; c < count; ++c) {
      const auto [begin, length, total, step] = codes[c];
      if (length > n) continue;
      uint16_t* to = all.data() + (1u << n) + (begin >> (kJpegSkipLookup - n));
      const unsigned entries = 1u << (n - length);
      // Nothing comes after an end of block.
      const unsigned rest = total < n && step >> 6 != kJpegSkipsEnd ? n - total : 0;
      const uint16_t* from = all.data() + (1u << rest);
      const unsigned mask = (1u << rest) - 1;
      for (unsigned i = 0; i < entries; ++i) {
        const unsigned more = rest ? from[i & mask] : 0;
        const bool fits = (more & 63) + total <= kJpegMaxLookupBits;
        to[i] = static_cast<uint16_t>(step + (fits ? more : 0));
      }
    }
  }
  std::copy(all.end() - static_cast<std::ptrdiff_t>(table.skip.size()), all.end(),
            table.skip.begin());
  table.has_skip = true;
}

}  // namespace torchdali::kernels
