// SPDX-License-Identifier: Apache-2.0
// The critical path is the dependency from symbol to symbol: shift, load, shift. Everything else
// runs in parallel, and hardly any branch depends on the bits, except for the end of a block.
#include "kernels/jpeg/jpeg_entropy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#define TORCHDALI_ISA_FILE "kernels/jpeg/jpeg_entropy_cpu.cpp"
#include "kernels/foreach_isa.h"

#ifndef TORCHDALI_JPEG_ENTROPY_ONCE
#define TORCHDALI_JPEG_ENTROPY_ONCE
namespace torchdali::kernels {
namespace {

// Places in a group, and after it: coefficients past the end are written to the place of the DC
// coefficient, which is written last.
constexpr auto kPlaces = [] {
  std::array<uint8_t, 64 + kJpegEndOfBlock> places{};
  for (size_t k = 0; k < 64; ++k) places[k] = kJpegPlaces[k];
  return places;
}();

// The same for units: coefficients past the end are dropped.
constexpr auto kUnitPlaces = [] {
  std::array<uint8_t, 64 + kJpegEndOfBlock> places{};
  std::copy(kJpegZigzag.begin(), kJpegZigzag.end(), places.begin());
  return places;
}();

// Values from -kUnitLimit to below kUnitLimit fit a unit.
constexpr int kUnitOne = 1 << kJpegUnitPlaceBits, kUnitLimit = 1 << (15 - kJpegUnitPlaceBits);
inline JpegUnit make_unit(int place, int value) {
  return static_cast<JpegUnit>(value * kUnitOne + place);
}

}  // namespace
}  // namespace torchdali::kernels
#endif

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL == 2
// Nothing here is for wider registers, and g++ spills to them.
int decode_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
                const uint8_t* limit) {
  return isa_avx2::decode_mcus(bits, blocks, begin, end, limit);
}
bool decode_two_rows(JpegRowPart& a, JpegRowPart& b) { return isa_avx2::decode_two_rows(a, b); }
int pack_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
              const uint8_t* limit, int first, int wanted, JpegPacking& to) {
  return isa_avx2::pack_mcus(bits, blocks, begin, end, limit, first, wanted, to);
}
#else
#include "kernels/jpeg/jpeg_reader.h"

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

// Takes a symbol and stores its value.
inline void put(Reader& in, JpegSymbol s, int16_t* block) {
  const Reader before = in;
  in.drop(s);
  block[kPlaces[in.at()]] = static_cast<int16_t>(before.value(s));
}

// Decodes one block, three symbols for each refill. Returns false if a code is invalid.
inline bool decode_block(Reader& in, const JpegMcuBlock& b, int16_t* block, uint8_t* last) {
  int dc;
  if (!read_dc(in, b, dc)) return false;
  const JpegAcTable& ac = *b.ac;
  in.begin_block();
  do {
    in.refill();
    JpegSymbol s = look_up(in, ac);
    if (is_decided(s)) [[likely]] {
      put(in, s, block);
      if (in.at() >= 63) break;
      s = look_up(in, ac);
      if (is_decided(s)) [[likely]] {
        put(in, s, block);
        if (in.at() >= 63) break;
        s = look_up(in, ac);
        if (is_decided(s)) [[likely]] {
          put(in, s, block);
          continue;
        }
      }
    }
    in.refill();
    s = jpeg_long_symbol(ac, in.bits);
    if (s == 0) return false;
    put(in, s, block);
  } while (in.at() < 63);
  block[0] = static_cast<int16_t>(dc);
  *last = static_cast<uint8_t>(in.at() & 63);
  return is_end(in.at());
}

// What is decoded of blocks that are not wanted.
struct Dropped {
  std::array<int16_t, kJpegGroupSize> coefficients;
  uint8_t last;
};

// One of two rows that are decoded in turn, and where it is.
struct Lane {
  Reader in;
  const JpegMcuBlock *first, *block, *blocks_end;
  int mcu, end;
  const uint8_t* limit;
  Dropped& dropped;
  // Of the block:
  const JpegAcTable* ac = nullptr;
  int16_t* to = nullptr;
  uint8_t* last = nullptr;
  int dc = 0;

  Lane(const JpegRowPart& part, Dropped& dropped)
      : in(*part.bits),
        first(part.blocks.data()),
        block(first),
        blocks_end(first + part.blocks.size()),
        mcu(part.next),
        end(part.end),
        limit(part.limit),
        dropped(dropped) {}

  bool begin_block() {
    const JpegMcuBlock& b = *block;
    if (!read_dc(in, b, dc)) return false;
    const int at = mcu * b.per_mcu + b.column - b.first;
    const bool wanted = static_cast<unsigned>(at) < static_cast<unsigned>(b.wanted);
    to = wanted ? b.coefficients + jpeg_block_offset(at) : dropped.coefficients.data();
    last = wanted ? b.last + at : &dropped.last;
    ac = b.ac;
    in.begin_block();
    return true;
  }
  bool end_block() {
    to[0] = static_cast<int16_t>(dc);
    *last = static_cast<uint8_t>(in.at() & 63);
    if (++block == blocks_end) {
      block = first;
      ++mcu;
    }
    return is_end(in.at());
  }
  // Whether decoding has to stop here.
  bool is_done() const { return block == first && (mcu >= end || in.next > limit); }

  // Reads a symbol; false if it is none.
  bool step() {
    JpegSymbol s = look_up(in, *ac);
    if (!is_decided(s)) [[unlikely]] {
      in.refill();
      s = jpeg_long_symbol(*ac, in.bits);
      if (s == 0) return false;
      put(in, s, to);
      in.refill();
      return true;
    }
    put(in, s, to);
    return true;
  }
};

// Decodes the rest of an MCU.
inline bool end_mcu(Lane& lane) {
  for (;;) {
    while (lane.in.at() < 63) {
      lane.in.refill();
      if (!lane.step()) return false;
    }
    if (!lane.end_block()) return false;
    if (lane.block == lane.first) return true;
    if (!lane.begin_block()) return false;
  }
}

bool decode_two_rows(JpegRowPart& part_a, JpegRowPart& part_b) {
  Dropped dropped;
  Lane a(part_a, dropped), b(part_b, dropped);
  if (!a.begin_block() || !b.begin_block()) return false;
  // Ends a block that has its last coefficient. `stops`: nothing may follow.
  const auto next_block = [](Lane& lane, bool& stops) {
    if (!lane.end_block()) return false;
    stops = lane.is_done();
    if (stops) return true;
    if (!lane.begin_block()) return false;
    lane.in.refill();
    return true;
  };
  bool a_stops = false, b_stops = false;
  while (!a_stops && !b_stops) {
    a.in.refill();
    b.in.refill();
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) {
      if (!a.step() || !b.step()) return false;
      if (a.in.at() >= 63 && !next_block(a, a_stops)) return false;
      if (b.in.at() >= 63 && !next_block(b, b_stops)) return false;
      if (a_stops || b_stops) break;
    }
  }
  if (!a_stops && !end_mcu(a)) return false;
  if (!b_stops && !end_mcu(b)) return false;
  *part_a.bits = a.in.position();
  *part_b.bits = b.in.position();
  part_a.next = a.mcu;
  part_b.next = b.mcu;
  return true;
}

// The same for a block of which only the DC is wanted: several symbols at once.
inline bool skip_block(Reader& in, const JpegMcuBlock& b, int& dc) {
  if (!read_dc(in, b, dc)) return false;
  const JpegAcTable& ac = *b.ac;
  unsigned k = 0;
  do {
    in.refill();
    for (int i = 0; i < 3 && k < 63; ++i) {
      const unsigned several = ac.skip[in.bits >> (64 - kJpegSkipLookup)];
      const unsigned next = k + (several >> 6);
      // One at a time if the block may end within them: after its last coefficient there is no code
      // for the end.
      if (several == 0 || next % kJpegSkipsEnd >= 63) [[unlikely]] {
        JpegSymbol s;
        in.refill();
        if (!read_symbol(in, ac, s)) return false;
        k += advance(s);
        in.drop(s);
        i = 3;
      } else {
        k = next;
        in.drop_bits(several & 63);
      }
    }
  } while (k < 63);
  return is_end(k);
}

// Decodes a block that is wanted, or skips it.
inline bool next_block(Reader& in, const JpegMcuBlock& b, int at) {
  int dc;
  if (static_cast<unsigned>(at) >= static_cast<unsigned>(b.wanted)) return skip_block(in, b, dc);
  int16_t* block = b.coefficients + jpeg_block_offset(at);
  if (!b.dc_only) return decode_block(in, b, block, b.last + at);
  if (!skip_block(in, b, dc)) return false;
  block[0] = static_cast<int16_t>(dc);
  b.last[at] = 0;
  return true;
}

// A block with values that need several units. It is rare, so it is read again. Returns the end.
struct Packed {
  Reader in;
  JpegUnit* to;
  bool good;
};
[[gnu::noinline]] Packed pack_large_values(Reader in, const JpegAcTable& ac, JpegUnit* to) {
  JpegSymbol s;
  unsigned k = 0;
  while (k < 63) {
    in.refill();
    if (!read_symbol(in, ac, s)) return {in, to, false};
    k += advance(s);
    int value = in.value(s);
    in.drop(s);
    for (; k < 64 && value != 0; ++to) {
      const int part = std::clamp(value, -kUnitLimit, kUnitLimit - 1);
      *to = make_unit(kUnitPlaces[k], part);
      value -= part;
    }
  }
  return {in, to, is_end(k)};
}

inline bool pack_block(Reader& in, const JpegMcuBlock& b, JpegUnit*& to) {
  int dc;
  if (!read_dc(in, b, dc)) return false;
  *to++ = static_cast<JpegUnit>(dc);
  const JpegAcTable& ac = *b.ac;
  const Reader begin = in;
  JpegUnit* const first = to;
  JpegSymbol s;
  unsigned k = 0, large = 0;
  // Sixteen zeros have a unit too, which adds 0.
  const auto put = [&] {
    k += advance(s);
    const int value = in.value(s);
    *to++ = make_unit(kUnitPlaces[k], value);
    large |= static_cast<unsigned>(value + kUnitLimit);
    in.drop(s);
  };
  do {
    in.refill();
    if (!read_symbol(in, ac, s)) return false;
    put();
    if (k >= 63) break;
    if (!read_symbol(in, ac, s)) return false;
    put();
  } while (k < 63);
  to -= k >= kJpegEndOfBlock;
  if (large >= 2 * kUnitLimit) [[unlikely]] {
    const Packed packed = pack_large_values(begin, ac, first);
    in = packed.in;
    to = packed.to;
    return packed.good;
  }
  return is_end(k);
}

int pack_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
              const uint8_t* limit, int first, int wanted, JpegPacking& to) {
  Reader in(bits);
  JpegUnit* units = to.end;
  size_t count = to.blocks;
  int mcu = begin;
  do {
    const bool inside = static_cast<unsigned>(mcu - first) < static_cast<unsigned>(wanted);
    for (const JpegMcuBlock& b : blocks) {
      bool good;
      if (inside && b.wanted != 0) {
        const auto at = static_cast<uint32_t>(units - to.begin);
        const size_t base = count / kJpegBlocksPerBase;
        if (count % kJpegBlocksPerBase == 0) to.bases[base] = at;
        to.starts[count++] = static_cast<uint16_t>(at - to.bases[base]);
        good = pack_block(in, b, units);
      } else {
        int dc;
        good = skip_block(in, b, dc);
      }
      if (!good) [[unlikely]]
        return -1;
    }
    ++mcu;
  } while (mcu < end && in.next <= limit);
  bits = in.position();
  to.end = units;
  to.blocks = count;
  return mcu;
}

int decode_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
                const uint8_t* limit) {
  Reader in(bits);
  int mcu = begin;
  do {
    for (const JpegMcuBlock& b : blocks) {
      if (!next_block(in, b, mcu * b.per_mcu + b.column - b.first)) [[unlikely]]
        return -1;
    }
    ++mcu;
  } while (mcu < end && in.next <= limit);
  bits = in.position();
  return mcu;
}
#endif

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
bool decode_two_jpeg_rows(JpegRowPart& a, JpegRowPart& b) {
  return TORCHDALI_ISA_PICK(decode_two_rows)(a, b);
}

int decode_jpeg_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
                     const uint8_t* limit) {
  return TORCHDALI_ISA_PICK(decode_mcus)(bits, blocks, begin, end, limit);
}

int pack_jpeg_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
                   const uint8_t* limit, int first, int wanted, JpegPacking& to) {
  return TORCHDALI_ISA_PICK(pack_mcus)(bits, blocks, begin, end, limit, first, wanted, to);
}
#endif

}  // namespace torchdali::kernels
