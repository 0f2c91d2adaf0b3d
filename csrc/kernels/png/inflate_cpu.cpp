// SPDX-License-Identifier: Apache-2.0
// The loop over the symbols of deflate. What limits it is the dependency from symbol to symbol (a
// shift, a load) and mispredicted branches between literals and copies. So an entry is looked up
// before the bits are refilled, which does not change the low ones, and short copies do not loop.
#include "kernels/png/inflate.h"

#include <algorithm>
#include <array>
#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/png/inflate_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL == 2
// Nothing here is for wider registers.
Inflated inflate_to(std::span<const uint8_t> in, std::span<uint8_t> out, bool partial,
                    InflateTables& tables) {
  return isa_avx2::inflate_to(in, out, partial, tables);
}
#else
namespace {

// After the refill, a look-up has at least this many bits.
constexpr int kRefilledBits = 56;
// Each pass of a loop checks that no more than this has been read of what follows the input.
constexpr ptrdiff_t kReadAhead = 8;

// The next bits of the stream. Bits above `count` are of the stream, too, or 0.
struct Bits {
  const uint8_t* next;
  const uint8_t* end;
  uint64_t bits = 0;
  uint32_t count = 0;

  void refill() {
    uint64_t word;
    std::memcpy(&word, next, sizeof(word));
    bits |= word << count;
    next += (63 - count) >> 3;
    count |= kRefilledBits;
  }
  void drop(uint32_t n) {
    bits >>= n;
    count -= n;
  }
  uint32_t take(uint32_t n) {
    const auto value = static_cast<uint32_t>(bits & ((uint64_t{1} << n) - 1));
    drop(n);
    return value;
  }
  bool is_past_end() const { return next - end > kReadAhead; }
  // Goes back to the bytes that have not begun.
  void align() {
    next -= count >> 3;
    bits = count = 0;
  }
};

struct Output {
  uint8_t* begin;
  uint8_t* next;
  uint8_t* end;
  uint32_t max_distance = 0;
};

enum class Step { kGood, kFull, kBroken };

Step copy_stored(Bits& in, Output& out, bool partial) {
  in.drop(in.count & 7);
  in.align();
  if (in.end - in.next < 4) return Step::kBroken;
  const int size = in.next[0] | in.next[1] << 8, inverse = in.next[2] | in.next[3] << 8;
  if ((size ^ inverse) != 0xFFFF) return Step::kBroken;
  in.next += 4;
  if (in.end - in.next < size) return Step::kBroken;
  const auto count = std::min<ptrdiff_t>(size, out.end - out.next);
  std::memcpy(out.next, in.next, static_cast<size_t>(count));
  out.next += count;
  in.next += count;
  if (count == size) return Step::kGood;
  return partial ? Step::kFull : Step::kBroken;
}

bool make_fixed(InflateTables& tables) {
  using inflate::kSymbols;
  uint8_t* lengths = tables.lengths;
  for (int s = 0; s < kSymbols; ++s) lengths[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8;
  std::fill_n(lengths + kSymbols, inflate::kDistances, uint8_t{5});
  return inflate::make_literals(tables, {lengths, kSymbols}) &&
         inflate::make_distances(tables, {lengths + kSymbols, inflate::kDistances});
}

// Reads the codes of a block (RFC 1951, 3.2.7).
bool read_codes(Bits& in, InflateTables& tables) {
  constexpr std::array<uint8_t, inflate::kPrecodeSymbols> kOrder = {
      16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const size_t literals = 257 + in.take(5), distances = 1 + in.take(5);
  const uint32_t given = 4 + in.take(4);
  if (literals > 286 || distances > 30) return false;
  uint8_t short_lengths[inflate::kPrecodeSymbols] = {};
  for (uint32_t i = 0; i < given; ++i) {
    if (in.count < 3) in.refill();
    short_lengths[kOrder[i]] = static_cast<uint8_t>(in.take(3));
  }
  uint32_t precode[1 << inflate::kPrecodeBits];
  if (!inflate::make_precode(short_lengths, precode)) return false;
  uint8_t* lengths = tables.lengths;
  const size_t all = literals + distances;
  for (size_t i = 0; i < all;) {
    constexpr uint32_t kMostBits = inflate::kPrecodeBits + 7;
    if (in.count < kMostBits) in.refill();
    if (in.is_past_end()) return false;
    const uint32_t entry = precode[in.bits & ((1u << inflate::kPrecodeBits) - 1)];
    in.drop(entry & 0xFF);
    const uint32_t symbol = entry >> 16;
    if (symbol < 16) {
      lengths[i++] = static_cast<uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) return false;
    const uint8_t value = symbol == 16 ? lengths[i - 1] : 0;
    const size_t times = symbol == 16   ? 3 + in.take(2)
                         : symbol == 17 ? 3 + in.take(3)
                                        : 11 + in.take(7);
    if (times > all - i) return false;
    std::fill_n(lengths + i, times, value);
    i += times;
  }
  // Without an end, a block never ends.
  if (lengths[256] == 0) return false;
  return inflate::make_literals(tables, {lengths, literals}) &&
         inflate::make_distances(tables, {lengths + literals, distances});
}

// Writes up to 39 bytes more than it should.
inline void copy_back(uint8_t* to, size_t distance, size_t size) {
  constexpr size_t kWord = 8, kUnrolled = 4 * kWord;
  const uint8_t* from = to - distance;
  uint8_t* const end = to + size;
  uint64_t word;
  if (distance >= kWord) [[likely]] {
    for (size_t i = 0; i < kUnrolled; i += kWord) {
      std::memcpy(&word, from + i, kWord);
      std::memcpy(to + i, &word, kWord);
    }
    for (from += kUnrolled, to += kUnrolled; to < end; from += kWord, to += kWord) {
      std::memcpy(&word, from, kWord);
      std::memcpy(to, &word, kWord);
    }
  } else if (distance == 1) {
    word = uint64_t{from[0]} * 0x0101010101010101;
    for (; to < end; to += kWord) std::memcpy(to, &word, kWord);
  } else {
    while (to < end) *to++ = *from++;
  }
}

Step decode_block(Bits& stream, Output& output, bool partial, const InflateTables& tables) {
  using namespace inflate;
  constexpr uint64_t kLiteralMask = (1u << kLiteralBits) - 1;
  constexpr uint64_t kDistanceMask = (1u << kDistanceBits) - 1;
  Bits in = stream;
  uint8_t* out = output.next;
  uint8_t* const out_begin = output.begin;
  uint8_t* const out_end = output.end;
  size_t farthest = output.max_distance;
  const uint32_t* const literals = tables.literals;
  const uint32_t* const distances = tables.distances;
  const auto drop = [&in](uint32_t entry) { in.drop(entry & 0x3F); };
  in.refill();
  uint32_t entry = literals[in.bits & kLiteralMask];
  const auto put_literals = [&] {
    drop(entry);
    const auto both = static_cast<uint16_t>(entry >> 16);
    std::memcpy(out, &both, sizeof(both));
    out += entry >> 8 & 0xF;
    entry = literals[in.bits & kLiteralMask];
  };
  Step result = Step::kBroken;
  for (;;) {
    if (out >= out_end) [[unlikely]] {
      // Exactly the end may come with the next symbol.
      if (partial || out > out_end) {
        result = partial ? Step::kFull : Step::kBroken;
        break;
      }
    }
    if (in.is_past_end()) break;
    in.refill();
    if (!(entry & kExceptional)) {
      put_literals();
      if (!(entry & kExceptional)) {
        put_literals();
        if (!(entry & kExceptional)) {
          put_literals();
          continue;
        }
      }
    }
    // At least 32 bits are left: enough for a length, and to look up a distance.
    if (entry & kLink) {
      entry =
          literals[(entry >> 16) + (in.bits >> kLiteralBits & ((1u << (entry >> 8 & 0xF)) - 1))];
      if (!(entry & kExceptional)) {
        put_literals();
        continue;
      }
    }
    if (entry & (kEnd | kInvalid)) {
      drop(entry);
      if (entry & kEnd) result = Step::kGood;
      break;
    }
    drop(entry);
    const uint32_t length = (entry >> 16) + in.take(entry >> 8 & 0xF);
    entry = distances[in.bits & kDistanceMask];
    in.refill();
    if (entry & kExceptional) {
      if (entry & kLink)
        entry = distances[(entry >> 16) +
                          (in.bits >> kDistanceBits & ((1u << (entry >> 8 & 0xF)) - 1))];
      if (entry & kInvalid) break;
    }
    drop(entry);
    const size_t distance = (entry >> 16) + in.take(entry >> 8 & 0xF);
    entry = literals[in.bits & kLiteralMask];
    if (distance > static_cast<size_t>(out - out_begin)) break;
    farthest = std::max(farthest, distance);
    copy_back(out, distance, length);
    out += length;
  }
  if (result == Step::kGood && out > out_end) result = partial ? Step::kFull : Step::kBroken;
  output.next = out;
  output.max_distance = static_cast<uint32_t>(farthest);
  stream = in;
  return result;
}

}  // namespace

Inflated inflate_to(std::span<const uint8_t> input, std::span<uint8_t> output, bool partial,
                    InflateTables& tables) {
  Bits in{.next = input.data(), .end = input.data() + input.size()};
  Output out{.begin = output.data(), .next = output.data(), .end = output.data() + output.size()};
  Inflated result;
  for (bool last = false; !last;) {
    if (in.is_past_end()) return result;
    in.refill();
    last = in.take(1) != 0;
    const uint32_t kind = in.take(2);
    Step step = Step::kBroken;
    if (kind == 0) {
      step = copy_stored(in, out, partial);
    } else if (kind == 1 ? make_fixed(tables) : kind == 2 && read_codes(in, tables)) {
      inflate::make_pairs(tables, {tables.lengths, 256});
      step = decode_block(in, out, partial, tables);
    }
    if (step == Step::kBroken) return result;
    if (step == Step::kFull) {
      // Bits after the input would have been zeros.
      result.good = in.next - (in.count >> 3) <= in.end;
      result.max_distance = out.max_distance;
      return result;
    }
  }
  in.align();
  result.good = in.next <= in.end && out.next == out.end;
  result.ended = true;
  result.used = static_cast<size_t>(in.next - input.data());
  result.max_distance = out.max_distance;
  return result;
}
#endif

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
Inflated inflate_to(std::span<const uint8_t> in, std::span<uint8_t> out, bool partial,
                    InflateTables& tables) {
  return TORCHDALI_ISA_PICK(inflate_to)(in, out, partial, tables);
}
#endif

}  // namespace torchdali::kernels
