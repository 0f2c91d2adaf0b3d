// SPDX-License-Identifier: Apache-2.0
// Reads bits of headers, the most significant one of each byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace torchdali::io::video {

using Bytes = std::span<const uint8_t>;

class BitReader {
 public:
  explicit BitReader(Bytes bytes) : bytes_(bytes) {}
  // 0 after the end.
  uint32_t bits(int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i, ++position_)
      value =
          value << 1 |
          (position_ / 8 < bytes_.size() ? bytes_[position_ / 8] >> (7 - position_ % 8) & 1U : 0U);
    return value;
  }
  // Exp-Golomb.
  uint32_t unsigned_number() {
    int zeros = 0;
    while (zeros < 31 && position_ / 8 < bytes_.size() && bits(1) == 0) ++zeros;
    return zeros == 0 ? 0 : (1U << zeros) - 1 + bits(zeros);
  }
  // Whether bits after the end were read.
  bool ended() const { return position_ > 8 * bytes_.size(); }

 private:
  Bytes bytes_;
  size_t position_ = 0;
};

}  // namespace torchdali::io::video
