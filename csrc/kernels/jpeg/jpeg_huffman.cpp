// SPDX-License-Identifier: Apache-2.0
// Canonical codes from the counts of a DHT segment (ITU-T T.81, C.2).
#include "kernels/jpeg/jpeg_huffman.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "kernels/jpeg/jpeg_entropy.h"
#include "kernels/jpeg/jpeg_segments.h"

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
  if (jpeg_symbol<kLookup>(of, bits) == 0) return;  // invalid, which the lookup does not decide
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
  table.lookup.fill(kLookup == kJpegAcLookup ? kJpegUndecided << 8 : 0);
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
  table.places.fill(0);
  std::copy(kJpegPlaces.begin(), kJpegPlaces.end(), table.places.begin());
  return make(counts, symbols, table);
}

bool make_jpeg_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                     JpegBandTable& table) {
  return make(counts, symbols, table);
}

namespace {

// Entries that begin with a symbol of `total` bits that advances by `step`.
void add_symbol(const uint16_t* more, size_t count, unsigned total, unsigned step, uint16_t* to) {
  const auto room = static_cast<uint16_t>(kJpegMaxLookupBits - total);
  for (size_t i = 0; i < count; ++i) {
    const auto fits = static_cast<uint16_t>(0 - ((more[i] & 63) <= room));
    to[i] = static_cast<uint16_t>(step + (more[i] & fits));
  }
}

}  // namespace

// What follows the first symbol does not depend on its value: with n known bits, the entries of a
// symbol are copies of those for the remaining bits, plus the symbol.
void add_jpeg_skip(JpegAcTable& table) {
  struct Code {
    unsigned begin, length, total, step;  // begin: left aligned in kJpegSkipLookup bits
  };
  std::array<Code, std::tuple_size_v<decltype(table.symbols)>> codes;
  size_t count = 0;
  unsigned shortest = kJpegSkipLookup;  // symbol after which there may be others
  uint32_t code = 0;
  for (unsigned length = 1; length <= kJpegSkipLookup; ++length, code <<= 1) {
    for (; code << (16 - length) < table.end[length]; ++code) {
      const uint8_t symbol = table.symbols[table.first[length] + static_cast<int32_t>(code)];
      const JpegSymbol s =
          jpeg_symbol<kJpegAcLookup>({static_cast<int>(length), symbol}, code << (17 - length));
      const unsigned advance = s >> 8 & 0xFF, total = s & 0xFF;
      const unsigned step = advance == kJpegEndOfBlock ? kJpegSkipsEnd : advance;
      if (s == 0 || total > kJpegMaxLookupBits) continue;
      codes[count++] = {code << (kJpegSkipLookup - length), length, total, total | step << 6};
      if (step != kJpegSkipsEnd) shortest = std::min(shortest, total);
    }
  }
  // Entries for n bits, fewer than those of the table, begin at 2^n.
  std::array<uint16_t, size_t{1} << kJpegSkipLookup> fewer{};
  for (unsigned n = 1; n <= kJpegSkipLookup; ++n) {
    if (n > kJpegSkipLookup - shortest && n < kJpegSkipLookup) continue;
    uint16_t* const level = n < kJpegSkipLookup ? fewer.data() + (1u << n) : table.skip.data();
    // Codes are in ascending order of length.
    for (size_t c = 0; c < count && codes[c].length <= n; ++c) {
      const auto [begin, length, total, step] = codes[c];
      uint16_t* to = level + (begin >> (kJpegSkipLookup - n));
      // Nothing comes after an end of block.
      const unsigned rest = total < n && step >> 6 != kJpegSkipsEnd ? n - total : 0;
      const unsigned different = 1u << rest;  // the others repeat them
      to[0] = static_cast<uint16_t>(step);
      if (rest > 0) add_symbol(fewer.data() + different, different, total, step, to);
      for (unsigned done = different, entries = 1u << (n - length); done < entries; done *= 2)
        std::copy_n(to, done, to + done);
    }
  }
  table.has_skip = true;
}

bool make_jpeg_code_table(std::span<const uint8_t, 16> counts, std::span<const uint8_t> symbols,
                          bool dc, JpegCodeTable& table) {
  constexpr unsigned kValueAt = JpegCodeTable::kLengthBits;
  constexpr unsigned kMoveAt = kValueAt + JpegCodeTable::kValueBits;
  constexpr int kLookup = JpegCodeTable::kLookup;
  const size_t codes = std::accumulate(counts.begin(), counts.end(), size_t{0});
  if (codes != symbols.size() || codes > std::size(table.symbols)) return false;
  std::ranges::fill(table.symbols, static_cast<uint16_t>(JpegCodeTable::kEnd));
  for (size_t i = 0; i < codes; ++i) {
    const uint8_t symbol = symbols[i];
    if (dc && symbol > 15) return false;
    const unsigned value = symbol & 15u, move = dc ? 1 : (symbol >> 4) + 1u;
    const bool ends = !dc && value == 0 && symbol < 0xF0;
    table.symbols[i] = static_cast<uint16_t>(ends ? JpegCodeTable::kEnd
                                                  : value | value << kValueAt | move << kMoveAt);
  }
  std::ranges::fill(table.end, uint16_t{0});
  std::ranges::fill(table.first, uint16_t{0});
  uint32_t code = 0, index = 0;
  uint16_t* to = table.lookup;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    const uint32_t count = counts[static_cast<size_t>(length - 1)];
    if (count && code + count >= uint32_t{1} << length) return false;
    if (length <= kLookup) {  // in ascending order, so the lookup is filled from the start on
      for (uint32_t i = 0; i < count; ++i, ++index)
        to = std::fill_n(to, size_t{1} << (kLookup - length),
                         static_cast<uint16_t>(table.symbols[index] + length));
    } else {
      const int n = length - kLookup - 1;
      table.first[n] = static_cast<uint16_t>(index - code);
      if (count) table.end[n] = static_cast<uint16_t>((code + count) << (16 - length));
      index += count;
    }
    code += count;
  }
  std::fill(to, std::end(table.lookup), uint16_t{0});
  std::ranges::copy(kJpegZigzag, table.places);
  return true;
}

}  // namespace torchdali::kernels
