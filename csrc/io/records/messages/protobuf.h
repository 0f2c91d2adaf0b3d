// SPDX-License-Identifier: Apache-2.0
// ProtoReader: the fields of a protobuf message, read in place. Source: "Encoding" in the
// documentation of Protocol Buffers (protobuf.dev).
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

namespace torchdali::io {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroup = 3,
  kGroupEnd = 4,
  kFixed32 = 5
};

// Goes through the fields of a message once; a field may occur any number of times. Nothing is
// copied. Whatever is wrong with the encoding raises kData.
class ProtoReader {
 public:
  explicit ProtoReader(std::span<const uint8_t> message)
      : at_(message.data()), end_(at_ + message.size()) {}

  // Moves to the next field; false at the end of the message.
  bool next();
  // A field of another type than the schema says is an unknown field.
  bool is(uint32_t number, WireType type) const { return number_ == number && type_ == type; }
  // Of a number; a varint is 64 bits, of which an int32 is the lower half.
  uint64_t integer() const { return value_; }
  // Of kBytes.
  std::span<const uint8_t> bytes() const { return bytes_; }

  // Of a repeated field of numbers, `field`, whose elements are `element` (kVarint or kFixed32):
  // how many of them the current field has, packed or not; 0 if it is another field.
  int64_t count_numbers(uint32_t field, WireType element) const;
  // Copies them; returns the end. A varint is cut off at the size of T.
  template <std::integral T>
  T* copy_varints(uint32_t field, T* to) const {
    if (is(field, WireType::kVarint)) *to++ = static_cast<T>(value_);
    if (!is(field, WireType::kBytes)) return to;
    const uint8_t* from = bytes_.data();
    const uint8_t* end = from + bytes_.size();
    while (from != end) *to++ = static_cast<T>(varint(from, end));
    return to;
  }
  float* copy_floats(uint32_t field, float* to) const;

 private:
  static uint64_t varint(const uint8_t*& from, const uint8_t* end);
  uint64_t fixed(int bytes);
  void skip_group();
  void read_tag();
  void read_value();

  const uint8_t* at_;
  const uint8_t* end_;
  uint32_t number_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t value_ = 0;
  std::span<const uint8_t> bytes_;
};

}  // namespace torchdali::io
