// SPDX-License-Identifier: Apache-2.0
// PNM: bitmaps (P1, P4), graymaps (P2, P5) and pixmaps (P3, P6), plain and raw, up to 16 bits.
// Source: netpbm's format pages pbm(5), pgm(5), ppm(5).
#include <algorithm>

#include "io/bytes.h"
#include "io/formats/formats.h"

namespace torchdali::io {
namespace {

bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

class PnmReader {
 public:
  explicit PnmReader(Bytes bytes, size_t position = 0) : bytes_(bytes), position_(position) {}
  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

  // The next decimal number; blanks and comments before it are skipped.
  uint32_t number() {
    constexpr uint64_t kMax = 1u << 30;
    skip_blanks();
    check(position_ < bytes_.size());
    TORCHDALI_CHECK_KIND(kData, is_digit(bytes_[position_]),
                         "the PNM file is broken: a number is expected at byte ", position_);
    uint64_t value = 0;  // ten times kMax does not wrap
    for (; position_ < bytes_.size() && is_digit(bytes_[position_]); ++position_) {
      value = value * 10 + (bytes_[position_] - '0');
      TORCHDALI_CHECK_KIND(kData, value < kMax, "the PNM file is broken: the number at byte ",
                           position_, " is too large");
    }
    return static_cast<uint32_t>(value);
  }
  // One pixel of a plain bitmap. There may be no blanks between pixels.
  bool bit() {
    skip_blanks();
    check(position_ < bytes_.size());
    const uint8_t c = bytes_[position_++];
    TORCHDALI_CHECK_KIND(kData, c == '0' || c == '1',
                         "the PNM file is broken: 0 or 1 is expected at byte ", position_ - 1);
    return c == '1';
  }
  // The one blank between a header and raw data.
  void end_header() {
    check(position_ < bytes_.size());
    TORCHDALI_CHECK_KIND(kData, is_space(bytes_[position_]),
                         "the PNM file is broken: a blank is expected at byte ", position_);
    ++position_;
  }

 private:
  static void check(bool inside) {
    TORCHDALI_CHECK_KIND(kData, inside,
                         "the PNM file is truncated: it ends before the picture does");
  }
  void skip_blanks() {
    for (; position_ < bytes_.size(); ++position_) {
      if (bytes_[position_] == '#') {
        while (position_ < bytes_.size() && bytes_[position_] != '\n' && bytes_[position_] != '\r')
          ++position_;
        if (position_ == bytes_.size()) return;
      } else if (!is_space(bytes_[position_])) {
        return;
      }
    }
  }
  Bytes bytes_;
  size_t position_;
};

struct PnmHeader {
  int64_t height = 0, width = 0;
  uint32_t max = 1;  // the value of full intensity
  int channels = 1;
  bool plain = false, bitmap = false;
  size_t data = 0;  // position of the first sample
  size_t row_bytes() const {
    const auto samples = static_cast<size_t>(width) * static_cast<size_t>(channels);
    return bitmap ? (samples + 7) / 8 : samples * (max > 255 ? 2 : 1);
  }
};

PnmHeader read_header(Bytes bytes) {
  PnmHeader h;
  const char kind = static_cast<char>(bytes[1]);
  h.plain = kind <= '3';
  h.bitmap = kind == '1' || kind == '4';
  h.channels = kind == '3' || kind == '6' ? 3 : 1;
  PnmReader reader(bytes, 2);
  h.width = reader.number();
  h.height = reader.number();
  if (!h.bitmap) h.max = reader.number();
  TORCHDALI_CHECK_KIND(kData, h.max >= 1 && h.max <= 65535,
                       "the PNM file is broken: its maximum value is ", h.max,
                       ", expected 1 to 65535");
  if (!h.plain) reader.end_header();
  h.data = reader.position();
  return h;
}

// Value -> full range of T, rounded to nearest; values larger than the header allows are clamped.
template <class T>
T to_full_range(uint32_t value, uint32_t max) {
  constexpr uint64_t kFull = std::is_same_v<T, uint8_t> ? 255 : 65535;
  return static_cast<T>((std::min(value, max) * kFull + max / 2) / max);
}

template <class T>
void read_plain(Bytes bytes, const PnmHeader& h, PixelTarget& target, T* row) {
  const Region& region = target.region();
  PnmReader reader(bytes, h.data);
  const int64_t samples = h.width * h.channels;
  for (int64_t y = 0; y < region.y + region.height; ++y) {
    for (int64_t i = 0; i < samples; ++i)
      row[i] = h.bitmap ? static_cast<T>(reader.bit() ? 0 : 255)
                        : to_full_range<T>(reader.number(), h.max);
    if (y >= region.y) target.write(y - region.y, row + region.x * h.channels);
  }
}

template <class T>
void read_raw(Bytes bytes, const PnmHeader& h, PixelTarget& target, T* row) {
  const Region& region = target.region();
  ByteReader reader(bytes);
  reader.seek(h.data);
  const int64_t first = region.x * h.channels, count = region.width * h.channels;
  for (int64_t y = 0; y < region.y + region.height; ++y) {
    TORCHDALI_CHECK_KIND(kData, reader.left() >= h.row_bytes(),
                         "the PNM file is truncated: it ends before the picture does");
    const uint8_t* in = reader.take(h.row_bytes()).data();
    if (y < region.y) continue;
    if (h.bitmap) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t x = first + i;
        row[i] = in[x / 8] >> (7 - x % 8) & 1 ? 0 : 255;  // a set bit is black
      }
    } else if (h.max == 255) {
      target.write(y - region.y, in + first);
      continue;
    } else if (h.max < 255) {
      for (int64_t i = 0; i < count; ++i) row[i] = to_full_range<T>(in[first + i], h.max);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const uint8_t* at = in + 2 * (first + i);
        row[i] = to_full_range<T>(static_cast<uint32_t>(at[0] << 8 | at[1]), h.max);
      }
    }
    target.write(y - region.y, row);
  }
}

}  // namespace

ImageInfo peek_pnm(Bytes bytes) {
  const PnmHeader h = read_header(bytes);
  ImageInfo info{.format = ImageFormat::kPnm,
                 .height = h.height,
                 .width = h.width,
                 .channels = h.channels,
                 .bit_depth = h.bitmap      ? 1
                              : h.max > 255 ? 16
                                            : 8};
  // A sample is at least a bit, a digit, or a digit and a blank.
  const uint64_t data = bytes.size() - h.data;
  uint64_t samples = data;
  if (h.bitmap && !h.plain) samples = data * 8;
  else if (h.plain && !h.bitmap) samples = (data + 1) / 2;
  else if (h.max > 255) samples = data / 2;
  check_size(info, bytes, samples / static_cast<unsigned>(h.channels));
  return info;
}

void decode_pnm(Bytes bytes, const ImageInfo& info, PixelTarget& target) {
  const PnmHeader h = read_header(bytes);
  const bool wide = info.bit_depth == 16;
  target.open({.model = h.channels == 1 ? PixelModel::kGray : PixelModel::kRGB, .wide = wide});
  const auto samples = static_cast<size_t>(h.width * h.channels);
  void* row = target.scratch().allocate(samples * (wide ? 2 : 1));
  if (wide) {
    auto* out = static_cast<uint16_t*>(row);
    h.plain ? read_plain(bytes, h, target, out) : read_raw(bytes, h, target, out);
  } else {
    auto* out = static_cast<uint8_t*>(row);
    h.plain ? read_plain(bytes, h, target, out) : read_raw(bytes, h, target, out);
  }
}

}  // namespace torchdali::io
