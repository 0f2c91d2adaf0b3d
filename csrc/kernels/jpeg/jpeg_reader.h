// SPDX-License-Identifier: Apache-2.0
// The bit reader of jpeg_entropy_cpu.cpp and jpeg_progressive_cpu.cpp. Included in the pass of each
// instruction set, so it has no include guard and includes nothing.

struct Reader {
  const uint8_t* next;
  uint64_t bits;
  int count;

  // At least 56 bits: two AC symbols (16 + 10 bits each).
  void refill() {
    uint64_t word;
    std::memcpy(&word, next, sizeof(word));
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    bits |= word >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  void drop(JpegSymbol s) {
    bits <<= s & 63;
    count -= static_cast<int>(s & 0xFF);
  }
  void drop_bits(int n) {
    bits <<= n;
    count -= n;
  }
  // The value after the code of `s` (T.81, F.2.2.1: EXTEND). Without a branch, since the bits are
  // random. A value whose top bit is 0 is negative: with the inverse of that bit as its sign it is
  // too small by one.
  int value(JpegSymbol s) const {
    const uint64_t after = bits << (s >> 16 & 63);
    const int64_t sign = std::numeric_limits<int64_t>::min();
    const int64_t top = (static_cast<int64_t>(after) >> 1) ^ sign;
    return static_cast<int>(top >> (s >> 24)) + static_cast<int>(~after >> 63);
  }
};

inline unsigned advance(JpegSymbol s) { return s >> 8 & 0xFF; }

template <int kLookup>
inline bool read_symbol(const Reader& in, const JpegHuffmanTable<kLookup>& table, JpegSymbol& s) {
  s = table.lookup[in.bits >> (64 - kLookup)];
  if ((s & 0xFF) == 0) [[unlikely]] {
    s = jpeg_long_symbol(table, in.bits);
    return s != 0;
  }
  return true;
}
