// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/hcompress.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/arrays/byte_order.h"
#include "io/arrays/fits_header.h"

namespace torchdali::io {
namespace {

constexpr int64_t kHeaderBytes = 25;
constexpr uint16_t kMagic = 0xdd99;
constexpr int kMostPlanes = 62;

template <class T>
T big_endian(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  swap_bytes(&value, sizeof value, 1);
  return value;
}

// Damaged data may overflow; its values are then wrong, not undefined.
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t halved(int64_t extent) { return extent / 2 + extent % 2; }
// The extent after it was halved `times` times.
int64_t halved(int64_t extent, int times) { return ((extent - 1) >> times) + 1; }

// Reads numbers of bits, the highest first.
class Bits {
 public:
  explicit Bits(std::span<const uint8_t> in) : in_(in) {}

  uint32_t take(int count) {  // at most 8
    if (count_ < count) {
      TORCHDALI_CHECK_KIND(kData, at_ < in_.size(), "the Hcompress data is truncated");
      bits_ = bits_ << 8 | in_[at_++];
      count_ += 8;
    }
    count_ -= count;
    return bits_ >> count_ & ((1U << count) - 1);
  }
  void skip_to_byte() { count_ = 0; }  // there is never a whole byte in bits_

  // A prefix code for the four bits of a square.
  uint8_t square() {
    static constexpr uint8_t kThree[] = {1, 2, 4, 8}, kFour[] = {3, 5, 10, 12, 15},
                             kFive[] = {6, 7, 9, 11, 13};
    uint32_t code = take(3);
    if (code < 4) return kThree[code];
    code = code << 1 | take(1);
    if (code < 13) return kFour[code - 8];
    code = code << 1 | take(1);
    if (code < 31) return kFive[code - 26];
    return take(1) == 0 ? 0 : 14;
  }

 private:
  std::span<const uint8_t> in_;
  size_t at_ = 0;
  uint32_t bits_ = 0;
  int count_ = 0;
};

// A part of the coefficients; `stride` elements from one row to the next.
struct Quadrant {
  uint64_t* data;
  int64_t rows, columns, stride;
};

// Calls put(row, column) for each bit of the squares, two by two bits each, that is set.
template <class Put>
void for_each_bit(const std::vector<uint8_t>& squares, int64_t rows, int64_t columns,
                  const Put& put) {
  const int64_t per_row = halved(columns);
  for (int64_t y = 0; y < halved(rows); ++y) {
    for (int64_t x = 0; x < per_row; ++x) {
      const uint8_t square = squares[static_cast<size_t>(y * per_row + x)];
      if (square == 0) continue;
      const bool right = 2 * x + 1 < columns, below = 2 * y + 1 < rows;
      if ((square & 8) != 0) put(2 * y, 2 * x);
      if ((square & 4) != 0 && right) put(2 * y, 2 * x + 1);
      if ((square & 2) != 0 && below) put(2 * y + 1, 2 * x);
      if ((square & 1) != 0 && below && right) put(2 * y + 1, 2 * x + 1);
    }
  }
}

class CoefficientReader {
 public:
  explicit CoefficientReader(std::span<const uint8_t> in) : bits_(in) {}

  void read_quadrant(const Quadrant& to, int planes) {
    if (to.rows == 0 || to.columns == 0) {
      // Without coefficients there are no bits of them, but their codes.
      for (int plane = 0; plane < planes; ++plane) read_empty_plane();
      return;
    }
    for (int plane = planes - 1; plane >= 0; --plane) {
      if (!read_plane(to.rows, to.columns)) continue;
      for_each_bit(squares_, to.rows, to.columns, [&](int64_t row, int64_t column) {
        to.data[row * to.stride + column] |= uint64_t{1} << plane;
      });
    }
  }
  void read_end() {
    TORCHDALI_CHECK_KIND(kData, bits_.take(4) == 0, "the Hcompress data has no end mark");
    bits_.skip_to_byte();
  }
  // Those that are not 0 have a bit each.
  void read_signs(std::vector<uint64_t>& coefficients) {
    for (uint64_t& value : coefficients)
      if (value != 0 && bits_.take(1) != 0) value = -value;
  }

 private:
  enum : uint32_t { kPlain = 0, kTree = 15 };

  uint32_t read_form() {
    const uint32_t form = bits_.take(4);
    TORCHDALI_CHECK_KIND(kData, form == kPlain || form == kTree,
                         "the Hcompress data has the unknown code ", form);
    return form;
  }
  void read_empty_plane() {
    if (read_form() == kTree) bits_.square();
  }
  // Reads the squares of a plane of bits; returns whether one is set.
  bool read_plane(int64_t rows, int64_t columns) {
    if (read_form() == kPlain) {
      squares_.resize(static_cast<size_t>(halved(rows) * halved(columns)));
      for (uint8_t& square : squares_) square = static_cast<uint8_t>(bits_.take(4));
      return true;
    }
    const auto largest = static_cast<uint64_t>(std::max(rows, columns));
    const int levels = std::bit_width(largest - 1);
    squares_.assign(1, bits_.square());
    if (squares_[0] == 0) return false;
    // The bits of a level say which squares of the next are not 0; those are read, the last first.
    for (int level = levels - 1; level > 0; --level) {
      const int64_t height = halved(rows, level), width = halved(columns, level);
      next_.assign(static_cast<size_t>(height * width), 0);
      for_each_bit(squares_, height, width, [&](int64_t row, int64_t column) {
        next_[static_cast<size_t>(row * width + column)] = 1;
      });
      for (size_t i = next_.size(); i-- > 0;)
        if (next_[i] != 0) next_[i] = bits_.square();
      std::swap(squares_, next_);
    }
    return true;
  }

  Bits bits_;
  std::vector<uint8_t> squares_, next_;
};

// The sums of a square of four pixels, and the differences of its rows, its columns, and both.
struct Square {
  int64_t sum, rows, columns, both;
};

// The inverse of the transform, from the smallest image to the whole one. Level k doubles the
// extents to those of the image, halved k times. An image has its sums first, in a quarter at the
// top left, and the other quarters have the differences.
class InverseTransform {
 public:
  InverseTransform(std::vector<uint64_t>& coefficients, int64_t rows, int64_t columns,
                   int64_t scale, bool smooth)
      : data_(coefficients), rows_(rows), columns_(columns), limit_(smooth ? scale / 2 : 0) {}

  void run(std::vector<int64_t>& image) {
    const int levels = std::bit_width(static_cast<uint64_t>(std::max(rows_, columns_) - 1));
    image.assign(1, at(0, 0));
    if (levels == 0) return;
    image[0] = rounded(image[0], levels + 1);
    for (int level = levels - 1; level >= 0; --level) {
      sums_.swap(image);
      set_extents(level);
      if (limit_ > 0) smooth();
      expand(level, image);
    }
  }

 private:
  int64_t at(int64_t row, int64_t column) const {
    return static_cast<int64_t>(data_[static_cast<size_t>(row * columns_ + column)]);
  }
  void add_at(int64_t row, int64_t column, int64_t value) {
    data_[static_cast<size_t>(row * columns_ + column)] += static_cast<uint64_t>(value);
  }
  int64_t sum(int64_t y, int64_t x) const { return sums_[static_cast<size_t>(y * low_width_ + x)]; }

  void set_extents(int level) {
    height_ = halved(rows_, level), width_ = halved(columns_, level);
    low_height_ = halved(height_), low_width_ = halved(width_);
  }

  // To the nearest multiple of 2^bits; halves away from zero.
  static int64_t rounded(int64_t value, int bits) {
    if (bits == 0) return value;
    const int64_t half = int64_t{1} << (bits - 1);
    return plus(value, value >= 0 ? half : half - 1) >> bits << bits;
  }

  // The compression leaves out bits that follow from others: the sums and differences of a square
  // are all odd or all even, and the bit above the lowest of the sum is that of the three others.
  static Square with_low_bits(Square s, int level) {
    s.rows = rounded(s.rows, level + 1);
    s.columns = rounded(s.columns, level + 1);
    s.both = rounded(s.both, level);
    const int64_t low = s.both & int64_t{1} << level;
    s.rows = s.rows >= 0 ? minus(s.rows, low) : plus(s.rows, low);
    s.columns = s.columns >= 0 ? minus(s.columns, low) : plus(s.columns, low);
    const int64_t next = (s.both ^ s.rows ^ s.columns) & int64_t{2} << level;
    if (s.sum >= 0) s.sum = minus(plus(s.sum, low), next);
    else s.sum = plus(s.sum, low == 0 ? next : low - next);
    return s;
  }

  void expand(int level, std::vector<int64_t>& image) const {
    const int shift = level == 0 ? 2 : 1;
    image.resize(static_cast<size_t>(height_ * width_));
    for (int64_t y = 0; y < low_height_; ++y) {
      const bool below = 2 * y + 1 < height_;
      int64_t* to = image.data() + 2 * y * width_;
      for (int64_t x = 0; x < low_width_; ++x, to += 2) {
        const bool right = 2 * x + 1 < width_;
        const Square s =
            with_low_bits({.sum = sum(y, x),
                           .rows = below ? at(low_height_ + y, x) : 0,
                           .columns = right ? at(y, low_width_ + x) : 0,
                           .both = below && right ? at(low_height_ + y, low_width_ + x) : 0},
                          level);
        const int64_t upper = minus(s.sum, s.rows), lower = plus(s.sum, s.rows);
        const int64_t upper_step = minus(s.columns, s.both), lower_step = plus(s.columns, s.both);
        to[0] = minus(upper, upper_step) >> shift;
        if (right) to[1] = plus(upper, upper_step) >> shift;
        if (below) to[width_] = minus(lower, lower_step) >> shift;
        if (below && right) to[width_ + 1] = plus(lower, lower_step) >> shift;
      }
    }
  }

  // How much a difference changes to be `wanted` / 2^bits, where `wanted` is between two bounds. A
  // difference was rounded by at most half of the scale.
  int64_t change(int64_t wanted, int64_t least, int64_t most, int64_t now, int bits) const {
    if (least >= most) return 0;
    const int64_t whole = int64_t{1} << bits;
    const int64_t step = minus(std::max(std::min(wanted, most), least), times(now, whole));
    return std::clamp(step / whole, -limit_, limit_);
  }
  int64_t slope_change(int64_t before, int64_t here, int64_t after, int64_t now) const {
    const int64_t up = minus(after, here), down = minus(here, before);
    const int64_t most = times(std::max<int64_t>(std::min(up, down), 0), 4);
    const int64_t least = times(std::min<int64_t>(std::max(up, down), 0), 4);
    return change(minus(after, before), least, most, now, 3);
  }
  int64_t curvature_change(int64_t y, int64_t x) const {
    const int64_t here = sum(y, x);
    const int64_t first = sum(y - 1, x - 1), second = sum(y - 1, x + 1);
    const int64_t third = sum(y + 1, x - 1), fourth = sum(y + 1, x + 1);
    const int64_t rows = times(at(low_height_ + y, x), 2);
    const int64_t columns = times(at(y, low_width_ + x), 2);
    // How far the square may be from its neighbors at the corners, less what its slopes make.
    const int64_t slopes[] = {plus(rows, columns), minus(columns, rows), minus(rows, columns),
                              minus(minus(0, rows), columns)};
    const int64_t steps[] = {minus(fourth, here), minus(here, third), minus(here, second),
                             minus(first, here)};
    int64_t most = 0, least = 0;
    for (int i = 0; i < 4; ++i) {
      const int64_t up = minus(std::max<int64_t>(steps[i], 0), slopes[i]);
      const int64_t down = minus(std::min<int64_t>(steps[i], 0), slopes[i]);
      most = i == 0 ? up : std::min(most, up);
      least = i == 0 ? down : std::max(least, down);
    }
    const int64_t wanted = minus(plus(fourth, first), plus(second, third));
    return change(wanted, times(least, 16), times(most, 16), at(low_height_ + y, low_width_ + x),
                  6);
  }
  // Interpolates the differences from the sums of the squares around; squares at the edges stay.
  void smooth() {
    for (int64_t y = 1; y < low_height_ - 1; ++y)
      for (int64_t x = 0; x < low_width_; ++x)
        add_at(low_height_ + y, x,
               slope_change(sum(y - 1, x), sum(y, x), sum(y + 1, x), at(low_height_ + y, x)));
    for (int64_t y = 0; y < low_height_; ++y)
      for (int64_t x = 1; x < low_width_ - 1; ++x)
        add_at(y, low_width_ + x,
               slope_change(sum(y, x - 1), sum(y, x), sum(y, x + 1), at(y, low_width_ + x)));
    for (int64_t y = 1; y < low_height_ - 1; ++y)
      for (int64_t x = 1; x < low_width_ - 1; ++x)
        add_at(low_height_ + y, low_width_ + x, curvature_change(y, x));
  }

  std::vector<uint64_t>& data_;
  int64_t rows_, columns_, limit_;
  int64_t height_ = 0, width_ = 0, low_height_ = 0, low_width_ = 0;
  std::vector<int64_t> sums_;
};

}  // namespace

int64_t most_hcompress_integers(int64_t bytes) {
  if (bytes < kHeaderBytes) return 0;
  return std::max<int64_t>(int64_t{1} << 24, limited_product(bytes, 1 << 12));
}

void decompress_hcompress(std::span<const uint8_t> in, bool smooth, HcompressRange range,
                          std::span<int32_t> out) {
  TORCHDALI_CHECK_KIND(kData,
                       std::ssize(in) >= kHeaderBytes && big_endian<uint16_t>(in.data()) == kMagic,
                       "it has no header of Hcompress data");
  const int64_t rows = big_endian<int32_t>(in.data() + 2);
  const int64_t columns = big_endian<int32_t>(in.data() + 6);
  const int64_t scale = big_endian<int32_t>(in.data() + 10);
  TORCHDALI_CHECK_KIND(kData, rows > 0 && columns > 0 && rows * columns == std::ssize(out),
                       "the Hcompress data has ", rows, " x ", columns, " values, expected ",
                       out.size());
  const uint8_t* planes = in.data() + 22;  // of the quarter of sums, two quarters, and the last
  for (int i = 0; i < 3; ++i)
    TORCHDALI_CHECK_KIND(kData, planes[i] <= kMostPlanes, "the Hcompress data has ", int{planes[i]},
                         " bits per value, expected at most ", kMostPlanes);

  std::vector<uint64_t> coefficients(out.size());
  CoefficientReader reader(in.subspan(kHeaderBytes));
  const int64_t top = halved(rows), left = halved(columns);
  uint64_t* data = coefficients.data();
  reader.read_quadrant({data, top, left, columns}, planes[0]);
  reader.read_quadrant({data + left, top, columns - left, columns}, planes[1]);
  reader.read_quadrant({data + top * columns, rows - top, left, columns}, planes[1]);
  reader.read_quadrant({data + top * columns + left, rows - top, columns - left, columns},
                       planes[2]);
  reader.read_end();
  reader.read_signs(coefficients);
  coefficients[0] = big_endian<uint64_t>(in.data() + 14);
  if (scale > 1)
    for (uint64_t& value : coefficients) value *= static_cast<uint64_t>(scale);
  std::vector<int64_t> image;
  InverseTransform(coefficients, rows, columns, scale, smooth).run(image);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t value = std::clamp(image[i], range.least, range.most);
    TORCHDALI_CHECK_KIND(kData, scale > 1 || value == image[i], "it has the value ", image[i],
                         ", which its type does not have");
    out[i] = static_cast<int32_t>(value);
  }
}

}  // namespace torchdali::io
