// SPDX-License-Identifier: Apache-2.0
// PNG (ISO/IEC 15948): 1 to 16 bits, palette, alpha. Common files are decoded by io/png_decoder,
// all others by libpng: interlaced, broken and very large ones. The header is read here, so that
// peeking needs no library.
#include <cstring>

#include "io/bytes.h"
#include "io/exif.h"
#include "io/formats/formats.h"
#include "io/formats/png_library.h"
#include "io/png_decoder/choice.h"
#include "io/png_decoder/decoder.h"

namespace torchdali::io {
namespace {

constexpr uint8_t kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6;  // color types

}  // namespace

ImageInfo peek_png(Bytes bytes) {
  constexpr uint32_t kMaxExtent = 0x7FFFFFFF;
  // Deflate yields at most 258 bytes for 2 bits (RFC 1951: one-bit length and distance codes).
  constexpr uint64_t kBytesPerByte = 1032;
  ImageInfo info{.format = ImageFormat::kPng};
  ByteReader reader(bytes, Endian::kBig);
  reader.skip(8);
  const uint32_t header_length = reader.u32();
  TORCHDALI_CHECK_KIND(kData,
                       std::memcmp(reader.take(4).data(), "IHDR", 4) == 0 && header_length == 13,
                       "the PNG file is broken: it does not begin with an IHDR chunk");
  const uint32_t width = reader.u32(), height = reader.u32();
  const uint8_t depth = reader.u8(), type = reader.u8();
  reader.skip(3 + 4);
  const bool depth_known = depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
  const bool type_known =
      type == kGray || type == kRgb || type == kPalette || type == kGrayAlpha || type == kRgba;
  TORCHDALI_CHECK_KIND(kData,
                       width <= kMaxExtent && height <= kMaxExtent && depth_known && type_known,
                       "the PNG file is broken: its IHDR chunk makes no sense");
  info.width = width;
  info.height = height;
  info.bit_depth = depth;
  info.palette = type == kPalette;
  info.alpha = type == kGrayAlpha || type == kRgba;
  info.channels = type == kGray ? 1 : type == kGrayAlpha ? 2 : type == kRgba ? 4 : 3;
  const int bits = (info.palette ? 1 : info.channels) * depth;
  check_size(info, bytes, bytes.size() * kBytesPerByte * 8 / static_cast<unsigned>(bits));
  // The orientation of the camera may be anywhere outside the image data.
  while (reader.left() >= 12) {
    const uint32_t length = reader.u32();
    const auto name = reader.take(4);
    if (length > reader.left() || std::memcmp(name.data(), "IEND", 4) == 0) break;
    const auto data = reader.take(length);
    if (std::memcmp(name.data(), "eXIf", 4) == 0) {
      info.orientation = exif_orientation(data).value_or(1);
      break;
    }
    if (reader.left() < 4) break;
    reader.skip(4);
  }
  return info;
}

void decode_png(Bytes bytes, const ImageInfo& info, PixelTarget& target) {
  const int channels = info.channels;
  target.open({.model = channels == 1   ? PixelModel::kGray
                        : channels == 2 ? PixelModel::kGrayAlpha
                        : channels == 3 ? PixelModel::kRGB
                                        : PixelModel::kRGBA,
               .wide = info.bit_depth == 16,
               .gray_rule = GrayRule::kLibpng});
  if (png::active_choice() == png::Choice::kOwn && png::decode(bytes, info, target)) return;
  decode_png_with_library(bytes, info, target);
}

}  // namespace torchdali::io
