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

// Adds a bit to each of these coefficients, away from zero (T.81, G.1.2.3).
inline void correct(Reader& in, int16_t* block, uint64_t which, int low) {
  while (which) {
    in.refill();
    for (int i = 0; i < 56 && which; ++i, which &= which - 1) {
      int16_t& c = block[kJpegPlaces[static_cast<size_t>(std::countr_zero(which))]];
      const int bit = static_cast<int>(in.bits >> 63);
      c = static_cast<int16_t>(c + (c < 0 ? -1 : 1) * (bit << low));
      in.drop_bits(1);
    }
  }
}

// Bits [from, to).
inline uint64_t bit_range(unsigned from, unsigned to) {
  return ((uint64_t{2} << (to - 1)) - 1) & ~((uint64_t{1} << from) - 1);
}

int refine_band(JpegBits& bits, JpegBand& band, const JpegBlockRow& row, int begin, int end,
                const uint8_t* limit) {
  Reader in(bits);
  const JpegBandTable& table = *band.table;
  const auto stop = static_cast<unsigned>(band.last) + 1;
  int at = begin;
  do {
    int16_t* block = row.coefficients + jpeg_block_offset(at);
    const uint64_t before = row.present[at];
    uint64_t after = before;
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
      in.drop(s);
      uint64_t zeros = ~before & bit_range(k, stop);
      for (unsigned run = advance(s); run > 1; --run) zeros &= zeros - 1;
      if (zeros == 0) return -1;
      const auto place = static_cast<unsigned>(std::countr_zero(zeros));
      if (place > k) correct(in, block, before & bit_range(k, place), band.low);
      block[kJpegPlaces[place]] = static_cast<int16_t>(value * (1 << band.low));
      after |= uint64_t{value != 0} << place;
      k = place + 1;
    }
    if (band.run > 0) {
      --band.run;
      if (k < stop) correct(in, block, before & bit_range(k, stop), band.low);
    }
    row.present[at++] = after;
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
