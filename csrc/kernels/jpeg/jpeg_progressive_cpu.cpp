// SPDX-License-Identifier: Apache-2.0
// A mask of 64 bits per block has the nonzero coefficients: a refining scan goes from one set bit
// to the next and skips the others.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/jpeg/jpeg_progressive.h"

#define TORCHDALI_ISA_FILE "kernels/jpeg/jpeg_progressive_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#include "kernels/jpeg/jpeg_reader.h"

int decode_dc(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int low, int begin, int end,
              const uint8_t* limit) {
  Reader in(bits);
  int mcu = begin;
  do {
    for (const JpegMcuBlock& b : blocks) {
      JpegSymbol s;
      in.refill();
      if (!read_symbol(in, *b.dc, s)) return -1;
      *b.predictor += in.value(s);
      in.drop(s);
      const int dc = *b.predictor * (1 << low);
      // Only in an invalid file a DC does not fit a coefficient.
      if (dc != static_cast<int16_t>(dc) || *b.predictor != static_cast<int16_t>(*b.predictor))
        return -1;
      b.coefficients[jpeg_block_offset(mcu * b.per_mcu + b.column)] = static_cast<int16_t>(dc);
    }
    ++mcu;
  } while (mcu < end && in.next <= limit);
  bits = in.position();
  return mcu;
}

int refine_dc(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int low, int begin, int end,
              const uint8_t* limit) {
  Reader in(bits);
  int mcu = begin;
  do {
    in.refill();  // an MCU has ten blocks at most
    for (const JpegMcuBlock& b : blocks) {
      int16_t& dc = b.coefficients[jpeg_block_offset(mcu * b.per_mcu + b.column)];
      dc = static_cast<int16_t>(dc | static_cast<int>(in.bits >> 63) << low);
      in.drop_bits(1);
    }
    ++mcu;
  } while (mcu < end && in.next <= limit);
  bits = in.position();
  return mcu;
}

// Blocks that an end of band covers, including this one.
inline int band_run(Reader& in, JpegSymbol s) {
  const int run = in.value(s);
  in.drop(s);
  return run;
}

int decode_band(JpegBits& bits, JpegBand& band, const JpegBlockRow& row, int begin, int end,
                const uint8_t* limit) {
  Reader in(bits);
  const JpegBandTable& table = *band.table;
  const auto last = static_cast<unsigned>(band.last);
  int at = begin;
  do {
    if (band.run > 0) {
      const int ended = std::min(band.run, end - at);
      band.run -= ended;
      at += ended;
      continue;
    }
    int16_t* block = row.coefficients + jpeg_block_offset(at);
    uint64_t present = 0;
    auto k = static_cast<unsigned>(band.first) - 1;
    do {
      JpegSymbol s;
      in.refill();
      if (!read_symbol(in, table, s)) return -1;
      if (advance(s) == kJpegEndOfBlock) {
        band.run = band_run(in, s) - 1;
        break;
      }
      k += advance(s);
      if (k > last) return -1;
      const int value = in.value(s);
      in.drop(s);
      block[kJpegPlaces[k]] = static_cast<int16_t>(value * (1 << band.low));
      present |= uint64_t{value != 0} << k;
    } while (k < last);
    row.present[at++] |= present;
  } while (at < end && in.next <= limit);
  bits = in.position();
  return at;
}

// Coefficients of a block, the first one in the highest bit: in this order, bits of the stream can
// be spread over them.
inline uint64_t reversed(uint64_t x) {
  x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
  x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
  x = (x >> 4 & 0x0F0F0F0F0F0F0F0F) | (x & 0x0F0F0F0F0F0F0F0F) << 4;
  return __builtin_bswap64(x);
}

// Spreads the low bits of `bits` over the set bits of `mask`.
inline uint64_t spread(uint64_t bits, uint64_t mask) {
#if TORCHDALI_ISA_LEVEL > 0
  return _pdep_u64(bits, mask);
#else
  uint64_t result = 0;
  for (; mask; mask &= mask - 1, bits >>= 1)
    if (bits & 1) result |= mask & -mask;
  return result;
#endif
}

// Coefficients [from, to) in that order; from < to.
inline uint64_t band_of(unsigned from, unsigned to) {
  return ~uint64_t{0} >> from & ~uint64_t{0} << (64 - to);
}

// Reads a bit for each of these coefficients; returns those whose bit is set. Half a block at once,
// so that bits always suffice.
inline uint64_t read_corrections(Reader& in, uint64_t which) {
  constexpr uint64_t kFirstHalf = ~uint64_t{0} << 32;
  uint64_t set = 0;
  const auto read = [&](uint64_t half) {
    const auto count = static_cast<unsigned>(std::popcount(half));
    set |= spread(in.bits >> 1 >> (63 - count), half);
    in.drop_bits(count);
  };
  if (std::popcount(which) <= 32) [[likely]] {
    read(which);
  } else {
    read(which & kFirstHalf);
    in.refill();
    read(which & ~kFirstHalf);
  }
  return set;
}

// Adds a bit to each of these coefficients, away from zero (T.81, G.1.2.3).
inline void correct(int16_t* block, uint64_t which, int low) {
  const int one = 1 << low;
  while (which) {
    const auto k = static_cast<unsigned>(std::countl_zero(which));
    which ^= uint64_t{1} << 63 >> k;
    int16_t& c = block[kJpegPlaces[k]];
    c = static_cast<int16_t>(c + (c < 0 ? -one : one));
  }
}

int refine_band(JpegBits& bits, JpegBand& band, const JpegBlockRow& row, int begin, int end,
                const uint8_t* limit) {
  Reader in(bits);
  const JpegBandTable& table = *band.table;
  const auto stop = static_cast<unsigned>(band.last) + 1;
  int at = begin;
  do {
    int16_t* block = row.coefficients + jpeg_block_offset(at);
    const uint64_t before = reversed(row.present[at]);
    uint64_t corrected = 0, added = 0;
    auto k = static_cast<unsigned>(band.first);
    while (band.run == 0 && k < stop) {
      JpegSymbol s;
      in.refill();
      if (!read_symbol(in, table, s)) return -1;
      if (advance(s) == kJpegEndOfBlock) {
        band.run = band_run(in, s);
        break;
      }
      // A new coefficient is 1 or -1, or zero after a run of sixteen.
      const int value = in.value(s);
      if (value < -1 || value > 1) return -1;
      in.drop(s);  // leaves at least 39 bits
      const uint64_t zeros = ~before & band_of(k, stop);
      const int after = std::popcount(zeros) - static_cast<int>(std::max(advance(s), 1u));
      if (after < 0) return -1;
      const uint64_t place = spread(uint64_t{1} << after, zeros);
      const auto next = static_cast<unsigned>(std::countl_zero(place));
      corrected |= read_corrections(in, before & ~(place - 1) & band_of(k, stop));
      block[kJpegPlaces[next]] = static_cast<int16_t>(value * (1 << band.low));
      if (value != 0) added |= uint64_t{1} << next;
      k = next + 1;
    }
    if (band.run > 0) {
      --band.run;
      if (k < stop) {
        in.refill();
        corrected |= read_corrections(in, before & band_of(k, stop));
      }
    }
    correct(block, corrected, band.low);
    row.present[at++] |= added;
  } while (at < end && in.next <= limit);
  bits = in.position();
  return at;
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
int decode_jpeg_dc(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int low, int begin,
                   int end, const uint8_t* limit) {
  return TORCHDALI_ISA_PICK(decode_dc)(bits, blocks, low, begin, end, limit);
}
int refine_jpeg_dc(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int low, int begin,
                   int end, const uint8_t* limit) {
  return TORCHDALI_ISA_PICK(refine_dc)(bits, blocks, low, begin, end, limit);
}
int decode_jpeg_band(JpegBits& bits, JpegBand& band, const JpegBlockRow& row, int begin, int end,
                     const uint8_t* limit) {
  return TORCHDALI_ISA_PICK(decode_band)(bits, band, row, begin, end, limit);
}
int refine_jpeg_band(JpegBits& bits, JpegBand& band, const JpegBlockRow& row, int begin, int end,
                     const uint8_t* limit) {
  return TORCHDALI_ISA_PICK(refine_band)(bits, band, row, begin, end, limit);
}
#endif

}  // namespace torchdali::kernels
