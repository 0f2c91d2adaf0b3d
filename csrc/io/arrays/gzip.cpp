// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/gzip.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace torchdali::io {
namespace {

void check_gzip(bool condition, const char* problem) {
  TORCHDALI_CHECK_KIND(kData, condition, "the gzip data is damaged: ", problem);
}

// Reads numbers of bits, the lowest first.
class DeflateBits {
 public:
  explicit DeflateBits(std::span<const uint8_t> in) : in_(in) {}

  // The next bits, of which at least 56 are valid unless the data ends before; the rest are 0.
  uint64_t peek() {
    if (in_.size() - at_ >= sizeof bits_) {
      uint64_t next = 0;
      std::memcpy(&next, in_.data() + at_, sizeof next);
      bits_ |= next << count_;  // what exceeds whole bytes comes again
      const int bytes = (63 - count_) / 8;
      at_ += static_cast<size_t>(bytes);
      count_ += 8 * bytes;
      return bits_;
    }
    while (count_ < 56 && at_ < in_.size()) {
      bits_ |= uint64_t{in_[at_++]} << count_;
      count_ += 8;
    }
    return bits_;
  }
  void skip(int count) {
    check_gzip(count <= count_, "it is truncated");
    bits_ >>= count;
    count_ -= count;
  }
  uint32_t take(int count) {
    const auto value = static_cast<uint32_t>(peek() & ((uint64_t{1} << count) - 1));
    skip(count);
    return value;
  }
  // The bytes from the next whole one on.
  std::span<const uint8_t> rest() const {
    return in_.subspan(at_ - static_cast<size_t>(count_) / 8);
  }
  void restart(std::span<const uint8_t> in) { *this = DeflateBits(in); }

 private:
  std::span<const uint8_t> in_;
  size_t at_ = 0;
  uint64_t bits_ = 0;
  int count_ = 0;  // of valid bits
};

// A Huffman code, which the lengths of its words determine.
class HuffmanCode {
 public:
  explicit HuffmanCode(std::span<const uint8_t> lengths) {
    for (const uint8_t length : lengths) ++count_[length];
    count_[0] = 0;
    std::array<uint16_t, kMost + 2> first{}, place{};
    int left = 1, words = 0;
    for (size_t length = 1; length <= kMost; ++length) {
      left = 2 * left - count_[length];
      check_gzip(left >= 0, "a Huffman code has too many words");
      words += count_[length];
      first[length + 1] = static_cast<uint16_t>((first[length] + count_[length]) << 1);
      place[length + 1] = static_cast<uint16_t>(place[length] + count_[length]);
    }
    check_gzip(left == 0 || (words <= 1 && words == count_[1]), "a Huffman code lacks words");
    for (size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      const size_t length = lengths[symbol];
      if (length == 0) continue;
      symbols_[place[length]++] = static_cast<uint16_t>(symbol);
      const uint32_t word = first[length]++;
      if (length > kFast) continue;
      uint32_t reversed = 0;  // its first bit is the lowest of the data
      for (size_t i = 0; i < length; ++i) reversed |= (word >> i & 1) << (length - 1 - i);
      for (size_t i = reversed; i < fast_.size(); i += size_t{1} << length)
        fast_[i] = static_cast<uint16_t>(symbol << 4 | length);
    }
  }

  uint32_t take(DeflateBits& bits) const {
    const uint64_t next = bits.peek();
    if (const uint16_t entry = fast_[next % fast_.size()]) {
      bits.skip(entry & 15);
      return entry >> 4;
    }
    // Words of one length are consecutive numbers, and longer words follow them.
    int word = 0, first = 0, place = 0;
    for (int length = 1; length <= static_cast<int>(kMost); ++length) {
      word |= static_cast<int>(next >> (length - 1) & 1);
      const int count = count_[static_cast<size_t>(length)];
      if (word - first < count) {
        bits.skip(length);
        return symbols_[static_cast<size_t>(place + word - first)];
      }
      place += count;
      first = (first + count) << 1;
      word <<= 1;
    }
    check_gzip(false, "a word is in no Huffman code");
    return 0;
  }

 private:
  static constexpr size_t kFast = 10, kMost = 15;
  std::array<uint16_t, kMost + 1> count_{};          // words of each length
  std::array<uint16_t, 288> symbols_{};              // in the order of their words
  std::array<uint16_t, size_t{1} << kFast> fast_{};  // symbol << 4 | length of short words, or 0
};

class Inflation {
 public:
  Inflation(std::span<const uint8_t> in, std::span<uint8_t> out) : bits_(in), out_(out) {}

  // Returns what follows.
  std::span<const uint8_t> run() {
    for (bool last = false; !last;) {
      last = bits_.take(1) != 0;
      switch (bits_.take(2)) {
        case 0: stored(); break;
        case 1: fixed(); break;
        case 2: dynamic(); break;
        default: check_gzip(false, "a block has an unknown type");
      }
    }
    TORCHDALI_CHECK_KIND(kData, made_ == out_.size(), "the gzip data has ", made_,
                         " bytes, expected ", out_.size());
    return bits_.rest();
  }

 private:
  void check_room(size_t count) const {
    TORCHDALI_CHECK_KIND(kData, count <= out_.size() - made_,
                         "the gzip data has more than the expected ", out_.size(), " bytes");
  }
  void stored() {
    std::span<const uint8_t> in = bits_.rest();
    check_gzip(in.size() >= 4, "it is truncated");
    const size_t count = in[0] | static_cast<size_t>(in[1]) << 8;
    const size_t inverse = in[2] | static_cast<size_t>(in[3]) << 8;
    check_gzip((count ^ inverse) == 0xffff, "the size of a stored block is wrong");
    in = in.subspan(4);
    check_gzip(count <= in.size(), "it is truncated");
    check_room(count);
    if (count > 0) std::memcpy(out_.data() + made_, in.data(), count);
    made_ += count;
    bits_.restart(in.subspan(count));
  }
  void fixed() {
    static const auto kCodes = [] {
      std::array<uint8_t, 288> lengths;
      for (size_t i = 0; i < lengths.size(); ++i)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
      std::array<uint8_t, 32> distances;
      distances.fill(5);
      return std::pair(HuffmanCode(lengths), HuffmanCode(distances));
    }();
    compressed(kCodes.first, kCodes.second);
  }
  void dynamic() {
    constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const size_t literals = bits_.take(5) + 257, distances = bits_.take(5) + 1;
    const size_t given = bits_.take(4) + 4;
    check_gzip(literals <= 286 && distances <= 30, "a Huffman code has too many words");
    std::array<uint8_t, 19> of_lengths{};
    for (size_t i = 0; i < given; ++i) of_lengths[kOrder[i]] = static_cast<uint8_t>(bits_.take(3));
    const HuffmanCode code(of_lengths);
    std::array<uint8_t, 286 + 30> lengths{};
    for (size_t i = 0; i < literals + distances;) {
      const uint32_t symbol = code.take(bits_);
      if (symbol < 16) {
        lengths[i++] = static_cast<uint8_t>(symbol);
        continue;
      }
      check_gzip(symbol != 16 || i > 0, "a length of nothing is repeated");
      const uint8_t repeated = symbol == 16 ? lengths[i - 1] : 0;
      const size_t times = symbol == 16   ? 3 + bits_.take(2)
                           : symbol == 17 ? 3 + bits_.take(3)
                                          : 11 + bits_.take(7);
      check_gzip(times <= literals + distances - i, "a Huffman code has too many words");
      std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), times, repeated);
      i += times;
    }
    check_gzip(lengths[256] > 0, "a block has no end");
    const std::span<const uint8_t> all(lengths);
    compressed(HuffmanCode(all.first(literals)), HuffmanCode(all.subspan(literals, distances)));
  }
  void compressed(const HuffmanCode& literals, const HuffmanCode& distances) {
    for (;;) {
      const uint32_t symbol = literals.take(bits_);
      if (symbol < 256) {
        check_room(1);
        out_[made_++] = static_cast<uint8_t>(symbol);
        continue;
      }
      if (symbol == 256) return;
      check_gzip(symbol < 286, "a match has an unknown length");
      const size_t length = length_of(symbol - 257);
      const uint32_t code = distances.take(bits_);
      check_gzip(code < 30, "a match has an unknown distance");
      match(1 + distance_of(code), length);
    }
  }
  // Codes in groups: those of a group have equally many extra bits.
  size_t length_of(uint32_t code) {
    if (code < 8) return code + 3;
    if (code == 28) return 258;
    const int extra = static_cast<int>(code / 4) - 1;
    return 3 + ((size_t{4} + code % 4) << extra) + bits_.take(extra);
  }
  size_t distance_of(uint32_t code) {
    if (code < 4) return code;
    const int extra = static_cast<int>(code / 2) - 1;
    return ((size_t{2} + code % 2) << extra) + bits_.take(extra);
  }
  void match(size_t distance, size_t count) {
    check_gzip(distance <= made_, "a match begins before the data");
    check_room(count);
    uint8_t* to = out_.data() + made_;
    // It may overlap what it makes, which then repeats: each copy doubles the period.
    for (size_t done = 0; done < count;) {
      const size_t part = std::min(count - done, distance + done);
      std::memcpy(to + done, to - distance, part);
      done += part;
    }
    made_ += count;
  }

  DeflateBits bits_;
  std::span<uint8_t> out_;
  size_t made_ = 0;
};

uint32_t little_endian(std::span<const uint8_t> bytes) {
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

// Eight bytes at a time: tables[i] has what a byte contributes that i others follow.
uint32_t crc32_of(std::span<const uint8_t> bytes) {
  constexpr size_t kStep = 8;
  static const auto kTables = [] {
    std::array<std::array<uint32_t, 256>, kStep> tables;
    for (uint32_t i = 0; i < tables[0].size(); ++i) {
      tables[0][i] = i;
      for (int bit = 0; bit < 8; ++bit)
        tables[0][i] = tables[0][i] >> 1 ^ ((tables[0][i] & 1) != 0 ? 0xedb88320U : 0);
    }
    for (size_t i = 1; i < kStep; ++i)
      for (size_t j = 0; j < tables[i].size(); ++j)
        tables[i][j] = tables[i - 1][j] >> 8 ^ tables[0][tables[i - 1][j] & 255];
    return tables;
  }();
  uint32_t crc = ~uint32_t{0};
  for (; bytes.size() >= kStep; bytes = bytes.subspan(kStep)) {
    const uint32_t first = crc ^ little_endian(bytes), second = little_endian(bytes.subspan(4));
    crc = 0;
    for (size_t i = 0; i < 4; ++i) {
      crc ^= kTables[kStep - 1 - i][first >> 8 * i & 255];
      crc ^= kTables[3 - i][second >> 8 * i & 255];
    }
  }
  for (const uint8_t byte : bytes) crc = crc >> 8 ^ kTables[0][(crc ^ byte) & 255];
  return ~crc;
}

// Returns what follows the header of a member.
std::span<const uint8_t> after_header(std::span<const uint8_t> in) {
  constexpr size_t kFixed = 10;
  constexpr int kChecksum = 2, kExtra = 4, kName = 8, kComment = 16, kReserved = 0xe0;
  check_gzip(in.size() >= kFixed, "it is truncated");
  check_gzip(in[0] == 0x1f && in[1] == 0x8b && in[2] == 8, "it does not begin as such");
  const int flags = in[3];
  check_gzip((flags & kReserved) == 0, "its header has unknown flags");
  size_t at = kFixed;
  if ((flags & kExtra) != 0) {
    check_gzip(in.size() - at >= 2, "it is truncated");
    const size_t count = in[at] | static_cast<size_t>(in[at + 1]) << 8;
    check_gzip(in.size() - at - 2 >= count, "it is truncated");
    at += 2 + count;
  }
  for (const int text : {kName, kComment}) {
    if ((flags & text) == 0) continue;
    while (at < in.size() && in[at] != 0) ++at;
    check_gzip(at < in.size(), "it is truncated");
    ++at;
  }
  if ((flags & kChecksum) != 0) at += 2;
  check_gzip(at <= in.size(), "it is truncated");
  return in.subspan(at);
}

}  // namespace

void decompress_gzip(std::span<const uint8_t> in, std::span<uint8_t> out) {
  const auto trailer = Inflation(after_header(in), out).run();
  check_gzip(trailer.size() >= 8, "it is truncated");
  check_gzip(little_endian(trailer.subspan(4)) == static_cast<uint32_t>(out.size()),
             "its size is wrong");
  check_gzip(little_endian(trailer) == crc32_of(out), "its checksum is wrong");
}

}  // namespace torchdali::io
