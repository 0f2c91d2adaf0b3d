// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/lz4.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace torchdali::io {
namespace {

constexpr size_t kMinMatch = 4, kLongLength = 15;
constexpr size_t kStep = 16;

// Copies `count` bytes in steps of 16, of which the last may exceed them.
void copy_steps(uint8_t* to, const uint8_t* from, size_t count) {
  for (size_t i = 0; i < count; i += kStep) std::memcpy(to + i, from + i, kStep);
}

class Lz4Block {
 public:
  Lz4Block(std::span<const uint8_t> in, std::span<uint8_t> out) : in_(in), out_(out) {}

  int64_t run() {
    while (at_ < in_.size()) {
      const uint8_t token = in_[at_++];
      literals(length(token >> 4));
      if (at_ == in_.size()) return static_cast<int64_t>(made_);  // a block ends with literals
      check(in_.size() - at_ >= 2, "it is truncated");
      const size_t distance = in_[at_] | static_cast<size_t>(in_[at_ + 1]) << 8;
      at_ += 2;
      match(distance, length(token & 15) + kMinMatch);
    }
    check(false, "it is truncated");
    return 0;
  }

 private:
  void check(bool condition, const char* problem) const {
    TORCHDALI_CHECK_KIND(kData, condition, "the LZ4 block of ", in_.size(),
                         " bytes is damaged at byte ", at_, ": ", problem);
  }
  void check_room(size_t count) const {
    TORCHDALI_CHECK_KIND(kData, count <= out_.size() - made_, "the LZ4 block of ", in_.size(),
                         " bytes has more than the expected ", out_.size(), " bytes");
  }
  size_t length(size_t value) {
    if (value < kLongLength) return value;
    for (;;) {
      check(at_ < in_.size(), "it is truncated");
      const uint8_t more = in_[at_++];
      value += more;  // at most 255 for each byte of the block, so it does not overflow
      if (more != 255) return value;
    }
  }
  void literals(size_t count) {
    check(count <= in_.size() - at_, "it is truncated");
    check_room(count);
    const size_t rounded = (count + kStep - 1) / kStep * kStep;
    if (rounded <= in_.size() - at_ && rounded <= out_.size() - made_)
      copy_steps(out_.data() + made_, in_.data() + at_, count);
    else if (count > 0) std::memcpy(out_.data() + made_, in_.data() + at_, count);
    at_ += count;
    made_ += count;
  }
  void match(size_t distance, size_t count) {
    check(distance > 0 && distance <= made_, "a match begins before the data");
    check_room(count);
    uint8_t* to = out_.data() + made_;
    const uint8_t* from = to - distance;
    const size_t rounded = (count + kStep - 1) / kStep * kStep;
    if (distance >= kStep && rounded <= out_.size() - made_) {
      copy_steps(to, from, count);
    } else {
      // A match may overlap what it makes, which then repeats: each copy doubles the period.
      for (size_t done = 0; done < count;) {
        const size_t part = std::min(count - done, distance + done);
        std::memcpy(to + done, from, part);
        done += part;
      }
    }
    made_ += count;
  }

  std::span<const uint8_t> in_;
  std::span<uint8_t> out_;
  size_t at_ = 0, made_ = 0;
};

}  // namespace

int64_t decompress_lz4(std::span<const uint8_t> block, std::span<uint8_t> out) {
  return Lz4Block(block, out).run();
}

}  // namespace torchdali::io
