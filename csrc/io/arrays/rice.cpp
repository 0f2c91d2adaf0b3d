// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/rice.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "io/arrays/fits_header.h"

namespace torchdali::io {
namespace {

// Bytes after the last integer that are ignored, as a writer may align its tiles.
constexpr size_t kUnused = 8;

// How many bits name the code of a block.
constexpr int code_bits(int64_t width) { return width == 1 ? 3 : width == 2 ? 4 : 5; }

// Reads numbers of bits, the highest first.
class RiceBits {
 public:
  explicit RiceBits(std::span<const uint8_t> in) : in_(in) {}

  uint32_t take(int count) {  // at most 32
    if (count == 0) return 0;
    fill();
    check(count <= count_);
    const auto value = static_cast<uint32_t>(bits_ >> (64 - count));
    drop(count);
    return value;
  }
  // The number of zeros before the next one, which is passed over.
  uint64_t zeros() {
    uint64_t total = 0;
    for (;;) {
      fill();
      check(count_ > 0);
      if (bits_ != 0) break;
      total += static_cast<uint64_t>(count_);
      drop(count_);
    }
    const int more = std::countl_zero(bits_);
    drop(more + 1);
    return total + static_cast<uint64_t>(more);
  }
  size_t unused_bytes() const { return in_.size() - at_ + static_cast<size_t>(count_) / 8; }

 private:
  static void check(bool has_bits) {
    TORCHDALI_CHECK_KIND(kData, has_bits, "the Rice data has too few values");
  }
  // At least 32 bits are valid then, unless the data ends before.
  void fill() {
    if (count_ >= 32) return;
    if (in_.size() - at_ >= sizeof bits_) {
      uint64_t next = 0;
      std::memcpy(&next, in_.data() + at_, sizeof next);
      const int bytes = (64 - count_) / 8;
      count_ += 8 * bytes;
      bits_ |= __builtin_bswap64(next) >> (count_ - 8 * bytes);
      bits_ = bits_ >> (64 - count_) << (64 - count_);
      at_ += static_cast<size_t>(bytes);
      return;
    }
    while (count_ <= 56 && at_ < in_.size()) {
      bits_ |= uint64_t{in_[at_++]} << (56 - count_);
      count_ += 8;
    }
  }
  void drop(int count) {
    bits_ = count == 64 ? 0 : bits_ << count;
    count_ -= count;
  }

  std::span<const uint8_t> in_;
  size_t at_ = 0;
  uint64_t bits_ = 0;  // the next bits are the highest; those that are not valid are 0
  int count_ = 0;      // of valid bits
};

int32_t extended(uint32_t value, int64_t width) {
  if (width == 1) return static_cast<uint8_t>(value);
  return width == 2 ? static_cast<int16_t>(value) : static_cast<int32_t>(value);
}

}  // namespace

int64_t most_rice_integers(int64_t bytes, int64_t block, int64_t width) {
  if (bytes < width) return 0;
  return limited_product(limited_product(bytes - width, 8) / code_bits(width), block);
}

void decompress_rice(std::span<const uint8_t> in, int64_t block, int64_t width,
                     std::span<int32_t> out) {
  const int word_bits = static_cast<int>(8 * width), name_bits = code_bits(width);
  // A code of 0: all differences are 0. The last one: they are not compressed.
  const uint32_t plain = width == 4 ? 26 : width == 2 ? 15 : 7;
  RiceBits bits(in);
  uint32_t value = bits.take(word_bits);
  for (size_t at = 0; at < out.size();) {
    const size_t end = at + std::min(static_cast<size_t>(block), out.size() - at);
    const uint32_t code = bits.take(name_bits);
    TORCHDALI_CHECK_KIND(kData, code <= plain, "the Rice data has the unknown code ", code);
    for (; at < end; ++at) {
      uint32_t mapped = 0;  // 0, -1, 1, -2, 2, ... are 0, 1, 2, 3, 4, ...
      if (code == plain) {
        mapped = bits.take(word_bits);
      } else if (code > 0) {
        const int low = static_cast<int>(code) - 1;
        const uint64_t high = bits.zeros();
        TORCHDALI_CHECK_KIND(kData, high < uint64_t{1} << (word_bits - low),
                             "the Rice data has a difference of more than ", word_bits, " bits");
        mapped = static_cast<uint32_t>(high << low) | bits.take(low);
      }
      value += (mapped & 1) != 0 ? ~(mapped >> 1) : mapped >> 1;
      out[at] = extended(value, width);
    }
  }
  TORCHDALI_CHECK_KIND(kData, bits.unused_bytes() < kUnused,
                       "the Rice data has more than the expected ", out.size(), " values");
}

}  // namespace torchdali::io
