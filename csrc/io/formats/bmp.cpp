// SPDX-License-Identifier: Apache-2.0
// BMP: 1, 4, 8, 16, 24 and 32 bits, palettes, bit fields, run lengths, both row orders.
// Source: Microsoft's "Bitmap Storage" pages (BITMAPCOREHEADER to BITMAPV5HEADER).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "io/bytes.h"
#include "io/formats/formats.h"

namespace torchdali::io {
namespace {

enum Compression : uint32_t { kRgb = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kAlphaBitFields = 6 };

struct Color {
  uint8_t r = 0, g = 0, b = 0;
};

struct BmpHeader {
  int64_t height = 0, width = 0;
  bool top_down = false;
  int bits = 0;  // of a pixel
  uint32_t compression = kRgb;
  std::array<uint32_t, 4> masks = {};  // red, green, blue, alpha
  std::array<Color, 256> palette = {};
  bool gray_palette = false;
  size_t data = 0;  // position of the pixels

  bool indexed() const { return bits <= 8; }
  bool run_lengths() const { return compression == kRle8 || compression == kRle4; }
  // Rows are padded to 32 bits; the last one need not be.
  size_t row_bytes() const { return (static_cast<size_t>(width) * bits + 7) / 8; }
  size_t row_stride() const { return (static_cast<size_t>(width) * bits + 31) / 32 * 4; }
};

void read_palette(ByteReader& reader, size_t entries, size_t entry_bytes, BmpHeader& h) {
  h.gray_palette = true;
  entries = std::min(entries, size_t{1} << h.bits);
  for (size_t i = 0; i < entries; ++i) {
    const auto entry = reader.take(entry_bytes);
    h.palette[i] = {entry[2], entry[1], entry[0]};
    h.gray_palette &= entry[0] == entry[1] && entry[1] == entry[2];
  }
}

BmpHeader read_header(Bytes bytes) {
  constexpr size_t kFileHeader = 14, kCore = 12, kInfo = 40, kMaxHeader = 4096;
  BmpHeader h;
  ByteReader reader(bytes);
  reader.skip(10);
  h.data = reader.u32();
  const size_t header_bytes = reader.u32();
  TORCHDALI_CHECK_KIND(
      kData, header_bytes == kCore || (header_bytes >= kInfo && header_bytes <= kMaxHeader),
      "the BMP file is broken: a header of ", header_bytes, " bytes");
  size_t colors = 0;
  if (header_bytes == kCore) {
    h.width = reader.u16();
    h.height = reader.u16();
    reader.skip(2);
    h.bits = reader.u16();
  } else {
    h.width = static_cast<int32_t>(reader.u32());
    h.height = static_cast<int32_t>(reader.u32());
    reader.skip(2);
    h.bits = reader.u16();
    h.compression = reader.u32();
    reader.skip(12);
    colors = reader.u32();
  }
  h.top_down = h.height < 0;
  if (h.top_down) h.height = -h.height;
  const bool bits_known =
      h.bits == 1 || h.bits == 4 || h.bits == 8 || h.bits == 16 || h.bits == 24 || h.bits == 32;
  TORCHDALI_CHECK_KIND(kUnsupported, bits_known, "BMP files with ", h.bits,
                       " bits per pixel are not supported");
  const bool fields = h.compression == kBitFields || h.compression == kAlphaBitFields;
  const bool possible = h.compression == kRgb || (h.compression == kRle8 && h.bits == 8) ||
                        (h.compression == kRle4 && h.bits == 4) ||
                        (fields && (h.bits == 16 || h.bits == 32));
  TORCHDALI_CHECK_KIND(kUnsupported, possible, "BMP files with compression ", h.compression,
                       " and ", h.bits, " bits per pixel are not supported");
  if (h.bits == 16) h.masks = {0x7C00, 0x03E0, 0x001F, 0};
  else if (h.bits == 32) h.masks = {0xFF0000, 0x00FF00, 0x0000FF, 0xFF000000};
  // Bit fields are the next words, whether they belong to a longer header or follow a short one.
  reader.seek(kFileHeader + std::min(header_bytes, kInfo));
  if (fields) {
    const bool alpha = h.compression == kAlphaBitFields || header_bytes >= kInfo + 16;
    for (int i = 0; i < (alpha ? 4 : 3); ++i) h.masks[i] = reader.u32();
    if (!alpha) h.masks[3] = 0;
  }
  reader.seek(std::max(reader.position(), kFileHeader + header_bytes));
  if (h.indexed()) {
    const size_t all = size_t{1} << h.bits;
    read_palette(reader, colors == 0 ? all : colors, header_bytes == kCore ? 3 : 4, h);
  }
  return h;
}

// One channel of a pixel with bit fields.
struct Field {
  explicit Field(uint32_t field_mask, int pixel_bits)
      : mask(field_mask), shift(field_mask ? std::countr_zero(field_mask) : 0) {
    max = mask >> shift;
    // The usual 15 and 16-bit formats are shifted up, white becomes 248, as DALI does.
    if (pixel_bits == 16 && max == 31) up = 3;
    if (pixel_bits == 16 && max == 63) up = 2;
  }
  uint8_t operator()(uint32_t pixel) const {
    const uint64_t value = (pixel & mask) >> shift;
    if (up) return static_cast<uint8_t>(value << up);
    return max ? static_cast<uint8_t>((value * 255 + max / 2) / max) : 255;
  }
  uint32_t mask;
  int shift, up = 0;
  uint32_t max = 0;
};

// Fills `pixels` with an index for each pixel, rows in the order of the file. Skipped pixels keep
// index 0.
void read_run_lengths(Bytes bytes, const BmpHeader& h, uint8_t* pixels) {
  const int64_t width = h.width, height = h.height;
  const bool half = h.compression == kRle4;
  ByteReader reader(bytes);
  reader.seek(std::min(h.data, bytes.size()));
  int64_t x = 0, y = 0;
  const auto put = [&](uint8_t index) {
    if (x < width && y < height) pixels[y * width + x] = index;
    ++x;
  };
  while (y < height) {
    TORCHDALI_CHECK_KIND(kData, reader.left() >= 2,
                         "the BMP file is truncated: it ends before the picture does");
    const uint8_t count = reader.u8(), value = reader.u8();
    if (count) {
      for (int i = 0; i < count; ++i)
        put(half ? static_cast<uint8_t>(i % 2 ? value & 15 : value >> 4) : value);
    } else if (value == 0) {  // end of row
      x = 0;
      ++y;
    } else if (value == 1) {  // end of picture
      return;
    } else if (value == 2) {  // step right and up
      x += reader.u8();
      y += reader.u8();
    } else {  // this many single pixels, padded to 16 bits
      const size_t size = half ? (value + 1u) / 2 : value;
      const auto run = reader.take(size);
      for (int i = 0; i < value; ++i)
        put(half ? static_cast<uint8_t>(i % 2 ? run[i / 2] & 15 : run[i / 2] >> 4) : run[i]);
      if (size % 2 && reader.left()) reader.skip(1);
    }
    // The last row needs no end mark if it is full.
    if (y == height - 1 && x >= width) return;
  }
}

// Pixels `first` to `first + count` of a packed row, as palette colors or grays.
void expand_indices(const BmpHeader& h, const uint8_t* row, int bits, int64_t first, int64_t count,
                    uint8_t* out) {
  const int per_byte = 8 / bits, mask = (1 << bits) - 1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t x = first + i;
    const int shift = (per_byte - 1 - static_cast<int>(x % per_byte)) * bits;
    const Color c = h.palette[row[x / per_byte] >> shift & mask];
    if (h.gray_palette) {
      out[i] = c.r;
    } else {
      out[3 * i] = c.r;
      out[3 * i + 1] = c.g;
      out[3 * i + 2] = c.b;
    }
  }
}

}  // namespace

ImageInfo peek_bmp(Bytes bytes) {
  // Two bytes can skip to the end of a picture of any size, but real files do not do that.
  constexpr uint64_t kRunPixelsPerByte = 16384;
  const BmpHeader h = read_header(bytes);
  ImageInfo info{.format = ImageFormat::kBmp,
                 .height = h.height,
                 .width = h.width,
                 .channels = h.bits == 32                    ? 4
                             : h.indexed() && h.gray_palette ? 1
                                                             : 3,
                 .bit_depth = h.indexed() ? h.bits : 8,
                 .palette = h.indexed(),
                 .alpha = h.bits == 32};
  uint64_t max_pixels = bytes.size() * kRunPixelsPerByte;
  if (!h.run_lengths()) max_pixels = bytes.size() * 8 / static_cast<unsigned>(h.bits);
  TORCHDALI_CHECK_KIND(kData, h.width >= 0, "the BMP file is broken: its width is ", h.width);
  check_size(info, bytes, max_pixels);
  return info;
}

void decode_bmp(Bytes bytes, const ImageInfo& info, PixelTarget& target) {
  const BmpHeader h = read_header(bytes);
  const Region& region = target.region();
  constexpr std::array<uint32_t, 3> kBgra = {0xFF0000, 0x00FF00, 0x0000FF};
  const bool plain_fields =
      std::equal(kBgra.begin(), kBgra.end(), h.masks.begin()) && h.masks[3] == 0xFF000000;
  const bool as_stored = h.bits == 24 || (h.bits == 32 && plain_fields);
  target.open({.model = as_stored            ? h.bits == 24 ? PixelModel::kBGR : PixelModel::kBGRA
                        : info.channels == 1 ? PixelModel::kGray
                        : info.channels == 4 ? PixelModel::kRGBA
                                             : PixelModel::kRGB});
  auto* buffer = static_cast<uint8_t*>(
      target.scratch().allocate(static_cast<size_t>(region.width * info.channels)));
  const uint8_t* pixels = nullptr;
  size_t stride = h.row_stride();
  int bits = h.bits;
  if (h.run_lengths()) {
    stride = static_cast<size_t>(h.width);
    bits = 8;
    const size_t size = stride * static_cast<size_t>(h.height);
    auto* indices = static_cast<uint8_t*>(target.scratch().allocate(size));
    std::memset(indices, 0, size);
    read_run_lengths(bytes, h, indices);
    pixels = indices;
  } else {
    // Region rows [first, last] in the file's order.
    const int64_t last = h.top_down ? region.y + region.height - 1 : h.height - 1 - region.y;
    const size_t end = h.data + static_cast<size_t>(last) * stride + h.row_bytes();
    TORCHDALI_CHECK_KIND(kData, end <= bytes.size(),
                         "the BMP file is truncated: it ends before the picture does");
    pixels = bytes.data() + h.data;
  }
  const Field red(h.masks[0], h.bits), green(h.masks[1], h.bits), blue(h.masks[2], h.bits),
      alpha(h.masks[3], h.bits);
  for (int64_t i = 0; i < region.height; ++i) {
    const int64_t y = region.y + i;
    const uint8_t* row = pixels + static_cast<size_t>(h.top_down ? y : h.height - 1 - y) * stride;
    if (as_stored) {
      target.write(i, row + region.x * (h.bits / 8));
      continue;
    }
    if (h.indexed()) {
      expand_indices(h, row, bits, region.x, region.width, buffer);
    } else {
      uint8_t* out = buffer;
      for (int64_t x = region.x; x < region.x + region.width; ++x) {
        const uint8_t* at = row + x * (h.bits / 8);
        uint32_t pixel = static_cast<uint32_t>(at[0] | at[1] << 8);
        if (h.bits == 32)
          pixel |= static_cast<uint32_t>(at[2]) << 16 | static_cast<uint32_t>(at[3]) << 24;
        *out++ = red(pixel);
        *out++ = green(pixel);
        *out++ = blue(pixel);
        if (h.bits == 32) *out++ = alpha(pixel);
      }
    }
    target.write(i, buffer);
  }
}

}  // namespace torchdali::io
