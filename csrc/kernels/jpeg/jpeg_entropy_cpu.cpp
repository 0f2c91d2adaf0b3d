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

// Places of coefficients in units; those past the end are dropped.
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
int pack_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
              const uint8_t* limit, int first, int wanted, JpegPacking& to) {
  return isa_avx2::pack_mcus(bits, blocks, begin, end, limit, first, wanted, to);
}
#else
#include "kernels/jpeg/jpeg_reader.h"
// After it:
#include "kernels/jpeg/jpeg_symbols.h"

// Decodes one block, three symbols for each refill. Returns false if a code is invalid.
inline bool decode_block(Reader& in, const JpegMcuBlock& b, int16_t* block, uint8_t* last) {
  int dc;
  if (!read_dc(in, b, dc)) return false;
  const JpegAcTable& ac = *b.ac;
  in.begin_block();
  do {
    do {
      in.refill();
      put_next(in, ac, block);
      if (in.at() >= 63) break;
      put_next(in, ac, block);
      if (in.at() >= 63) break;
      put_next(in, ac, block);
    } while (in.at() < 63);
    if (in.at() < kJpegUndecided) break;
    if (!put_undecided(in, ac, block)) return false;
  } while (in.at() < 63);
  block[0] = static_cast<int16_t>(dc);
  *last = static_cast<uint8_t>(in.at() & 63);
  return is_end(in.at());
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
