// SPDX-License-Identifier: Apache-2.0
// The bit reader of jpeg_entropy_cpu.cpp and jpeg_progressive_cpu.cpp. Included in the pass of each
// instruction set, so it has no include guard and includes nothing.

struct Reader {
  const uint8_t* next;
  uint64_t bits;
  // Bits 0 to 7: how many bits after the first of `bits` are used up. Bits 8 to 15: the position in
  // the block. A symbol is added to both at once; what that leaves in the upper bits is not used.
  uint32_t state;

  explicit Reader(const JpegBits& from)
      : next(from.next), bits(from.bits), state(static_cast<uint32_t>(63 - from.count)) {}
  JpegBits position() const { return {next, bits, static_cast<int>(63 - (state & 63))}; }

  void begin_block() { state &= 0xFF; }
  unsigned at() const { return state >> 8 & 0xFF; }
  // The same for code that runs rarely: the compiler would else compute it for that in advance,
  // where it is not needed.
  unsigned at_last() const {
    uint32_t s = state;
    asm("" : "+r"(s));
    return s >> 8 & 0xFF;
  }

  // At least 56 bits.
  void refill() {
    uint64_t word;
    std::memcpy(&word, next, sizeof(word));
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    bits |= word >> (~state & 63);
    next += (state & 0xFF) >> 3;
    state &= ~uint32_t{0xF8};
  }
  // Takes a symbol, and moves as far as it says.
  void drop(JpegSymbol s) {
    bits <<= s & 63;
    state += s;
  }
  void drop_bits(unsigned n) {
    bits <<= n;
    state += n;
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
