// SPDX-License-Identifier: Apache-2.0
// Bits of FLAC, the most significant bit of a byte first. Written from RFC 9639.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace torchdali::kernels::flac {

// Reads through a window of 64 bits. After the end come zeros, and overran() says so: the loops
// need no check for each value. A copy in local variables stays in registers.
class BitReader {
 public:
  BitReader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  // At least 56 bits are in the window afterwards.
  void refill() {
    if (at_ + 8 <= size_) {
      uint64_t next = 0;
      std::memcpy(&next, data_ + at_, 8);
      if constexpr (std::endian::native == std::endian::little) next = __builtin_bswap64(next);
      // Bits below the count are those of the file already, so setting them again is harmless.
      window_ |= next >> count_;
      at_ += static_cast<size_t>((63 - count_) >> 3);
      count_ |= 56;
    } else {
      refill_at_end();
    }
  }
  uint64_t window() const { return window_; }
  int count() const { return count_; }
  // At most count(), and less than 64.
  void drop(int bits) {
    window_ <<= bits;
    count_ -= bits;
  }
  // 0 to 56 bits.
  uint64_t take(int bits) {
    refill();
    const uint64_t value = window_ >> 1 >> (63 - bits);
    drop(bits);
    return value;
  }
  int64_t take_signed(int bits) {
    if (bits == 0) return 0;
    return static_cast<int64_t>(take(bits) << (64 - bits)) >> (64 - bits);
  }
  // Zeros before the next one, which is dropped too. At most `limit`; more are -1.
  int64_t take_unary(int64_t limit) {
    int64_t zeros = 0;
    for (;;) {
      refill();
      const int some = window_ == 0 ? 64 : std::countl_zero(window_);
      if (some < count_) {
        drop(some + 1);
        zeros += some;
        return zeros <= limit ? zeros : -1;
      }
      zeros += count_;
      if (zeros > limit || overran()) return -1;
      drop(count_);
    }
  }
  void align_to_byte() { drop(count_ & 7); }
  size_t position() const { return at_ - static_cast<size_t>(count_ >> 3); }  // if aligned
  bool overran() const { return at_ * 8 - static_cast<size_t>(count_) > size_ * 8; }

 private:
  void refill_at_end() {
    while (count_ <= 56) {
      if (at_ < size_) window_ |= uint64_t{data_[at_]} << (56 - count_);
      ++at_;
      count_ += 8;
    }
    if (count_ == 64) {  // drop(64) would be undefined
      count_ = 56;
      --at_;
    }
  }

  const uint8_t* data_;
  size_t size_, at_ = 0;
  uint64_t window_ = 0;
  int count_ = 0;
};

}  // namespace torchdali::kernels::flac
