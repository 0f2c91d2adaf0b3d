// SPDX-License-Identifier: Apache-2.0
// What counts here is the chain from symbol to symbol: shift, load, shift. Everything else runs
// beside it, and hardly a branch depends on the bits but the end of a block.
#include "kernels/jpeg_entropy.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#define TORCHDALI_ISA_FILE "kernels/jpeg_entropy_cpu.cpp"
#include "kernels/foreach_isa.h"

#ifndef TORCHDALI_JPEG_ENTROPY_ONCE
#define TORCHDALI_JPEG_ENTROPY_ONCE
namespace torchdali::kernels {
namespace {

// Where in a group the k-th coefficient of a block goes. What moves past the end goes to the place
// of the DC coefficient, which is written last.
constexpr auto kPlaces = [] {
  std::array<uint8_t, 64 + kJpegEndOfBlock> places{};
  for (size_t k = 0; k < 64; ++k)
    places[k] = static_cast<uint8_t>(kJpegZigzag[k] / 8 * kJpegGroup * 8 + kJpegZigzag[k] % 8);
  return places;
}();

}  // namespace
}  // namespace torchdali::kernels
#endif

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

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
  // The value behind the code of `s` (T.81, F.2.2.1: EXTEND). No branch: its bits are random. A
  // value whose top bit is 0 is negative: with the inverse of that bit as its sign it is one too
  // small.
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

inline bool read_dc(Reader& in, const JpegMcuBlock& b, int& dc) {
  JpegSymbol s;
  in.refill();
  if (!read_symbol(in, *b.dc, s)) return false;
  dc = *b.predictor + in.value(s);
  in.drop(s);
  *b.predictor = dc;
  // Only a broken file has a DC that does not fit a coefficient.
  return dc == static_cast<int16_t>(dc);
}

// A run of zeros may leave the block; nothing else may.
inline bool is_end(unsigned k) { return k == 63 || k >= kJpegEndOfBlock; }

// One block. False where its codes are broken.
inline bool decode_block(Reader& in, const JpegMcuBlock& b, int16_t* block, uint8_t* last) {
  int dc;
  if (!read_dc(in, b, dc)) return false;
  const JpegAcTable& ac = *b.ac;
  JpegSymbol s;
  unsigned k = 0;
  do {
    in.refill();
    if (!read_symbol(in, ac, s)) return false;
    k += advance(s);
    block[kPlaces[k]] = static_cast<int16_t>(in.value(s));
    in.drop(s);
    if (k >= 63) break;
    if (!read_symbol(in, ac, s)) return false;
    k += advance(s);
    block[kPlaces[k]] = static_cast<int16_t>(in.value(s));
    in.drop(s);
  } while (k < 63);
  block[0] = static_cast<int16_t>(dc);
  *last = static_cast<uint8_t>(k & 63);
  return is_end(k);
}

// The same for a block that nobody wants: several symbols at once.
inline bool skip_block(Reader& in, const JpegMcuBlock& b) {
  int dc;
  if (!read_dc(in, b, dc)) return false;
  const JpegAcTable& ac = *b.ac;
  unsigned k = 0;
  do {
    in.refill();
    for (int i = 0; i < 2 && k < 63; ++i) {
      const unsigned several = ac.skip[in.bits >> (64 - kJpegSkipLookup)];
      const unsigned next = k + (several >> 6);
      // One at a time where the block may end among them: at its last coefficient it does so
      // without a code.
      if (several == 0 || next % kJpegSkipsEnd >= 63) [[unlikely]] {
        JpegSymbol s;
        if (!read_symbol(in, ac, s)) return false;
        k += advance(s);
        in.drop(s);
      } else {
        k = next;
        in.drop(several & 63);
      }
    }
  } while (k < 63);
  return is_end(k);
}

int decode_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
                const uint8_t* limit) {
  Reader in{bits.next, bits.bits, bits.count};
  int mcu = begin;
  do {
    for (const JpegMcuBlock& b : blocks) {
      const int at = mcu * b.per_mcu + b.column - b.first;
      const bool wanted = static_cast<unsigned>(at) < static_cast<unsigned>(b.wanted);
      const bool good =
          wanted ? decode_block(in, b, b.coefficients + jpeg_block_offset(at), b.last + at)
                 : skip_block(in, b);
      if (!good) [[unlikely]]
        return -1;
    }
    ++mcu;
  } while (mcu < end && in.next <= limit);
  bits = {in.next, in.bits, in.count};
  return mcu;
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
int decode_jpeg_mcus(JpegBits& bits, std::span<const JpegMcuBlock> blocks, int begin, int end,
                     const uint8_t* limit) {
  return TORCHDALI_ISA_PICK(decode_mcus)(bits, blocks, begin, end, limit);
}
#endif

}  // namespace torchdali::kernels
