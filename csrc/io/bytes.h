// SPDX-License-Identifier: Apache-2.0
// Bounds-checked reading of integers from encoded bytes. Reading past the end raises an error.
#pragma once

#include <cstdint>
#include <span>

#include "core/error.h"

namespace torchdali::io {

enum class Endian { kLittle, kBig };

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes, Endian endian = Endian::kLittle)
      : bytes_(bytes), endian_(endian) {}
  size_t size() const { return bytes_.size(); }
  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }
  void seek(size_t position) {
    check(position <= bytes_.size());
    position_ = position;
  }
  void skip(size_t count) {
    check(count <= left());
    position_ += count;
  }
  std::span<const uint8_t> take(size_t count) {
    check(count <= left());
    position_ += count;
    return bytes_.subspan(position_ - count, count);
  }
  uint8_t u8() { return take(1)[0]; }
  uint16_t u16() {
    const auto b = take(2);
    return static_cast<uint16_t>(endian_ == Endian::kLittle ? b[0] | b[1] << 8 : b[1] | b[0] << 8);
  }
  uint32_t u32() {
    const uint32_t first = u16(), second = u16();
    return endian_ == Endian::kLittle ? first | second << 16 : second | first << 16;
  }
  uint64_t u64() {
    const uint64_t first = u32(), second = u32();
    return endian_ == Endian::kLittle ? first | second << 32 : second | first << 32;
  }

 private:
  static void check(bool inside) {
    TORCHDALI_CHECK_KIND(kData, inside, "the file is truncated: it ends within its header");
  }
  std::span<const uint8_t> bytes_;
  Endian endian_;
  size_t position_ = 0;
};

}  // namespace torchdali::io
