// SPDX-License-Identifier: Apache-2.0
// The bit reader of jpeg_entropy_cpu.cpp and jpeg_progressive_cpu.cpp. Included in the pass of each
// instruction set, so it has no include guard and includes nothing.

struct Reader {
  const uint8_t* next;
  uint64_t bits;
  uint32_t count;

  explicit Reader(const JpegBits& from)
      : next(from.next), bits(from.bits), count(static_cast<uint32_t>(from.count)) {}
  JpegBits position() const { return {next, bits, static_cast<int>(count & 63)}; }

  // At least 56 bits. Of `count`, only the low six bits are used.
  void refill() {
    uint64_t word;
    std::memcpy(&word, next, sizeof(word));
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    bits |= word >> (count & 63);
    next += (~count & 63) >> 3;
    count |= 56;
  }
  void drop(JpegSymbol s) {
    bits <<= s & 63;
    count -= s;
  }
  void drop_bits(unsigned n) {
    bits <<= n;
    count -= n;
  }
  // The value after the code of `s` (T.81, F.2.2.1: EXTEND).
  int value(JpegSymbol s) const { return static_cast<int16_t>((bits >> (-s & 63)) + (s >> 16)); }
};

inline unsigned advance(JpegSymbol s) { return s >> 8 & 0xFF; }

template <int kLookup>
inline JpegSymbol look_up(const Reader& in, const JpegHuffmanTable<kLookup>& table) {
  return table.lookup[in.bits >> (64 - kLookup)];
}
// Whether a lookup decides.
inline bool is_decided(JpegSymbol s) { return (s & 0xFF) != 0; }

// Reads a symbol of any length. Returns false if there is none.
template <int kLookup>
inline bool read_symbol(const Reader& in, const JpegHuffmanTable<kLookup>& table, JpegSymbol& s) {
  s = look_up(in, table);
  if (!is_decided(s)) [[unlikely]]
    s = jpeg_long_symbol(table, in.bits);
  return s != 0;
}
