// SPDX-License-Identifier: Apache-2.0
// JPEG (ITU-T T.81): files that are common in data sets are decoded by io/jpeg_decoder, all others
// by libjpeg-turbo: arithmetic coding, CMYK and YCCK, and broken or incomplete files. The header is
// read here, so that peeking needs no library.
#include <algorithm>
#include <cstring>

#include "io/bytes.h"
#include "io/exif.h"
#include "io/formats/formats.h"
#include "io/formats/jpeg_library.h"
#include "io/jpeg_decoder/choice.h"
#include "io/jpeg_decoder/decoder.h"

namespace torchdali::io {
namespace {

// The number of pixels that one byte can encode. A full-resolution component has a block every 64
// pixels, and each block costs a DC code of at least one bit; arithmetic coding gets below one bit.
constexpr uint64_t kPixelsPerByte = 64 * 8, kPixelsPerByteArithmetic = kPixelsPerByte * 64;

bool is_start_of_frame(uint8_t marker) {
  // C4, C8 and CC are tables (T.81, table B.1).
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

}  // namespace

ImageInfo peek_jpeg(Bytes bytes) {
  constexpr uint8_t kExif[] = {'E', 'x', 'i', 'f', 0, 0};
  ImageInfo info{.format = ImageFormat::kJpeg};
  ByteReader reader(bytes, Endian::kBig);
  reader.skip(2);
  for (;;) {
    // Bytes that belong to no segment are skipped, as libjpeg does.
    while (reader.u8() != 0xFF) {
    }
    uint8_t marker = 0xFF;
    while (marker == 0xFF) marker = reader.u8();
    const bool standalone = marker == 0 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (standalone) continue;
    TORCHDALI_CHECK_KIND(kData, marker != 0xD9 && marker != 0xDA,
                         "the JPEG file is broken: it has no frame header");
    const size_t length = reader.u16();
    TORCHDALI_CHECK_KIND(kData, length >= 2, "the JPEG file is broken: a segment of ", length,
                         " bytes");
    if (is_start_of_frame(marker)) {
      ByteReader frame(reader.take(6), Endian::kBig);
      info.bit_depth = frame.u8();
      info.height = frame.u16();
      info.width = frame.u16();
      info.channels = frame.u8();
      info.cmyk = info.channels == 4;
      TORCHDALI_CHECK_KIND(kUnsupported,
                           info.channels == 1 || info.channels == 3 || info.channels == 4,
                           "JPEG files with ", info.channels, " components are not supported");
      TORCHDALI_CHECK_KIND(kUnsupported, info.bit_depth == 8, "JPEG files with ", info.bit_depth,
                           " bits per sample are not supported, only 8");
      const bool arithmetic = marker >= 0xC9;
      check_size(info, bytes,
                 bytes.size() * (arithmetic ? kPixelsPerByteArithmetic : kPixelsPerByte));
      return info;
    }
    const auto segment = reader.take(length - 2);
    if (marker == 0xE1 && segment.size() > sizeof(kExif) &&
        std::memcmp(segment.data(), kExif, sizeof(kExif)) == 0)
      info.orientation = exif_orientation(segment.subspan(sizeof(kExif)));
  }
}

namespace {

PixelModel model_of(const ImageInfo& info, ImageType type) {
  if (type == ImageType::kGray || info.channels == 1) return PixelModel::kGray;
  if (info.cmyk && type == ImageType::kAnyData) return PixelModel::kCMYK;
  return !info.cmyk && type == ImageType::kBGR ? PixelModel::kBGR : PixelModel::kRGB;
}

// Whether the built-in decoder is tried.
bool tries_own(const ImageInfo& info, const DecodeOptions& options) {
  return !info.cmyk && !options.fast_idct && jpeg::active_choice() == jpeg::Choice::kOwn;
}

}  // namespace

void decode_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                 PixelTarget& target) {
  const PixelModel model = model_of(info, target.type());
  target.open({.model = model});
  if (tries_own(info, options) &&
      jpeg::decode(bytes, info, model, options.scale, target, options.jpeg_index))
    return;
  decode_with_library(bytes, info, model, options, target);
}

std::unique_ptr<PairableDecode> prepare_jpeg(Bytes bytes, const ImageInfo& info,
                                             const DecodeOptions& options, PixelTarget& target) {
  if (!tries_own(info, options)) return nullptr;
  const PixelModel model = model_of(info, target.type());
  target.open({.model = model});
  return jpeg::prepare_decode(bytes, info, model, options.scale, target, options.jpeg_index);
}

}  // namespace torchdali::io
