// SPDX-License-Identifier: Apache-2.0
// Symbols of the blocks of sequential JPEG, for jpeg_entropy_cpu.cpp and jpeg_lanes_cpu.cpp.
// Included in the pass of each instruction set, after jpeg_reader.h, so it has no include guard and
// includes nothing.

inline bool read_dc(Reader& in, const JpegMcuBlock& b, int& dc) {
  JpegSymbol s;
  in.refill();
  if (!read_symbol(in, *b.dc, s)) return false;
  dc = *b.predictor + in.value(s);
  in.drop(s);
  *b.predictor = dc;
  // Only in an invalid file a DC does not fit a coefficient.
  return dc == static_cast<int16_t>(dc);
}

// Only a run of zeros may extend past the block.
inline bool is_end(unsigned k) { return k == 63 || k >= kJpegEndOfBlock; }

// Takes a symbol and stores its value. Returns the new position.
inline size_t put(Reader& in, JpegSymbol s, const JpegAcTable& ac, int16_t* block) {
  const Reader before = in;
  in.drop(s);
  const auto at = static_cast<uint8_t>(in.state >> 8);
  block[ac.places[at]] = static_cast<int16_t>(before.value(s));
  return at;
}

// Takes the next symbol if the lookup decides it. Otherwise nothing is taken, and the position is
// at least kJpegUndecided.
inline size_t put_next(Reader& in, const JpegAcTable& ac, int16_t* block) {
  return put(in, look_up(in, ac), ac, block);
}
// What is done then: takes a symbol of any length. Returns false if there is none.
inline bool put_undecided(Reader& in, const JpegAcTable& ac, int16_t* block) {
  in.state -= kJpegUndecided << 8;
  in.refill();
  const JpegSymbol s = jpeg_long_symbol(ac, in.bits);
  put(in, s, ac, block);
  in.refill();
  return s != 0;
}

// Reads several symbols at once, or one if the block may end within them: after its last
// coefficient there is no code for the end. `k` is the position in the block. Returns false if a
// code is invalid.
inline bool skip_symbols(Reader& in, const JpegAcTable& ac, unsigned& k) {
  const unsigned several = ac.skip[in.bits >> (64 - kJpegSkipLookup)];
  const unsigned next = k + (several >> 6);
  if (several != 0 && next % kJpegSkipsEnd < 63) [[likely]] {
    k = next;
    in.drop_bits(several & 63);
    return true;
  }
  JpegSymbol s;
  in.refill();
  if (!read_symbol(in, ac, s)) return false;
  k += advance(s);
  in.drop(s);
  in.refill();
  return true;
}

// The same for a block of which only the DC is wanted.
inline bool skip_block(Reader& in, const JpegMcuBlock& b, int& dc) {
  if (!read_dc(in, b, dc)) return false;
  unsigned k = 0;
  do {
    in.refill();
    for (int i = 0; i < 3 && k < 63; ++i)
      if (!skip_symbols(in, *b.ac, k)) return false;
  } while (k < 63);
  return is_end(k);
}
