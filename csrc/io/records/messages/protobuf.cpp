// SPDX-License-Identifier: Apache-2.0
#include "io/records/messages/protobuf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "core/error.h"

namespace torchdali::io {
namespace {

constexpr int kMaxVarintBytes = 10;
constexpr size_t kMaxGroups = 100;  // in each other

[[noreturn]] void damaged_message(const char* what) {
  raise(ErrorKind::kData, "a damaged protobuf message: ", what,
        to_fix("check that the file is complete, and that the reader is the one for its format"));
}

}  // namespace

uint64_t ProtoReader::varint(const uint8_t*& from, const uint8_t* end) {
  uint64_t value = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    if (from == end) damaged_message("it ends within a number");
    const uint8_t byte = *from++;
    value |= uint64_t{byte & 127u} << (7 * i);
    if (byte < 128) return value;
  }
  damaged_message("a number has more than 10 bytes");
}

int64_t ProtoReader::count_numbers(uint32_t field, WireType element) const {
  if (is(field, element)) return 1;
  if (!is(field, WireType::kBytes)) return 0;
  if (element == WireType::kFixed32) {
    if (bytes_.size() % sizeof(float) != 0) damaged_message("a list of floats ends within one");
    return static_cast<int64_t>(bytes_.size() / sizeof(float));
  }
  if (!bytes_.empty() && bytes_.back() >= 128) damaged_message("it ends within a number");
  return std::count_if(bytes_.begin(), bytes_.end(), [](uint8_t byte) { return byte < 128; });
}

float* ProtoReader::copy_floats(uint32_t field, float* to) const {
  if (is(field, WireType::kFixed32)) *to++ = std::bit_cast<float>(static_cast<uint32_t>(value_));
  if (!is(field, WireType::kBytes) || bytes_.empty()) return to;
  std::memcpy(to, bytes_.data(), bytes_.size());
  const size_t count = bytes_.size() / sizeof(float);
  return to + count;
}

uint64_t ProtoReader::fixed(int bytes) {
  if (end_ - at_ < bytes) damaged_message("it ends within a number");
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t{*at_++} << (8 * i);
  return value;
}

void ProtoReader::read_tag() {
  const uint64_t tag = varint(at_, end_);
  if (tag > std::numeric_limits<uint32_t>::max() || tag < 8)
    damaged_message("a field has a wrong number");
  number_ = static_cast<uint32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
}

void ProtoReader::read_value() {
  switch (type_) {
    case WireType::kVarint: value_ = varint(at_, end_); return;
    case WireType::kFixed64: value_ = fixed(8); return;
    case WireType::kFixed32: value_ = fixed(4); return;
    case WireType::kBytes: {
      const uint64_t size = varint(at_, end_);
      if (size > static_cast<uint64_t>(end_ - at_))
        damaged_message("a field is longer than the message");
      bytes_ = {at_, static_cast<size_t>(size)};
      at_ += size;
      return;
    }
    default: damaged_message("a field has an unknown type");
  }
}

bool ProtoReader::next() {
  if (at_ == end_) return false;
  read_tag();
  if (type_ == WireType::kGroup) skip_group();
  else read_value();
  return true;
}

// Groups are an old form of messages. No format that is read here has any.
void ProtoReader::skip_group() {
  std::vector<uint32_t> open{number_};
  while (!open.empty()) {
    if (at_ == end_) damaged_message("it ends within a group");
    read_tag();
    if (type_ == WireType::kGroup) {
      if (open.size() == kMaxGroups) damaged_message("too many groups in each other");
      open.push_back(number_);
    } else if (type_ == WireType::kGroupEnd) {
      if (number_ != open.back()) damaged_message("a group ends as another one");
      open.pop_back();
    } else {
      read_value();
    }
  }
  type_ = WireType::kGroup;
}

}  // namespace torchdali::io
