// SPDX-License-Identifier: Apache-2.0
// JPEG (ITU-T T.81): files that are common in data sets are decoded by io/jpeg_decoder, all others
// by libjpeg-turbo: arithmetic coding, CMYK and YCCK, and broken or incomplete files. The header is
// read here, so that peeking needs no library.
#include <algorithm>
#include <optional>

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

struct Segment {
  uint8_t marker;
  Bytes data;  // empty for the markers of a scan and of the end
  bool ends_header() const { return marker == 0xD9 || marker == 0xDA; }
};

// The next segment. Bytes that belong to none are skipped, as libjpeg does.
Segment next_segment(ByteReader& reader) {
  for (;;) {
    while (reader.u8() != 0xFF) {
    }
    Segment segment{.marker = 0xFF, .data = {}};
    while (segment.marker == 0xFF) segment.marker = reader.u8();
    const uint8_t m = segment.marker;
    if (m == 0 || m == 0x01 || (m >= 0xD0 && m <= 0xD8)) continue;  // without data
    if (segment.ends_header()) return segment;
    const size_t length = reader.u16();
    TORCHDALI_CHECK_KIND(kData, length >= 2, "the JPEG file is broken: a segment of ", length,
                         " bytes");
    segment.data = reader.take(length - 2);
    return segment;
  }
}

std::optional<int> orientation_of(const Segment& segment) {
  constexpr uint8_t kExif[] = {'E', 'x', 'i', 'f', 0, 0};
  const bool exif = segment.marker == 0xE1 && segment.data.size() > sizeof(kExif) &&
                    std::equal(std::begin(kExif), std::end(kExif), segment.data.begin());
  return exif ? exif_orientation(segment.data) : std::nullopt;
}

// The first orientation between the frame header and the first scan, where few writers put it. What
// is broken there is left to the decoder.
std::optional<int> late_orientation(ByteReader reader) {
  try {
    for (;;) {
      const Segment segment = next_segment(reader);
      const auto orientation = orientation_of(segment);
      if (orientation || segment.ends_header()) return orientation;
    }
  } catch (const Error&) {
    return std::nullopt;
  }
}

void read_frame(const Segment& segment, Bytes bytes, ImageInfo& info) {
  ByteReader frame(segment.data, Endian::kBig);
  info.bit_depth = frame.u8();
  info.height = frame.u16();
  info.width = frame.u16();
  info.channels = frame.u8();
  info.cmyk = info.channels == 4;
  TORCHDALI_CHECK_KIND(kUnsupported, info.channels == 1 || info.channels == 3 || info.channels == 4,
                       "JPEG files with ", info.channels, " components are not supported");
  TORCHDALI_CHECK_KIND(kUnsupported, info.bit_depth == 8, "JPEG files with ", info.bit_depth,
                       " bits per sample are not supported, only 8");
  const bool arithmetic = segment.marker >= 0xC9;
  check_size(info, bytes, bytes.size() * (arithmetic ? kPixelsPerByteArithmetic : kPixelsPerByte));
}

}  // namespace

ImageInfo peek_jpeg(Bytes bytes) {
  constexpr uint8_t kJpegLs = 0xF7;  // its frame header (ITU-T T.87)
  ImageInfo info{.format = ImageFormat::kJpeg};
  ByteReader reader(bytes, Endian::kBig);
  reader.skip(2);
  std::optional<int> orientation;  // the first one counts, as for other decoders
  for (;;) {
    const Segment segment = next_segment(reader);
    TORCHDALI_CHECK_KIND(kData, !segment.ends_header(),
                         "the JPEG file is broken: it has no frame header");
    TORCHDALI_CHECK_KIND(kUnsupported, segment.marker != kJpegLs, "JPEG-LS files are not supported",
                         to_fix("convert the file"));
    if (!orientation) orientation = orientation_of(segment);
    if (!is_start_of_frame(segment.marker)) continue;
    read_frame(segment, bytes, info);
    if (!orientation) orientation = late_orientation(reader);
    info.orientation = orientation.value_or(1);
    return info;
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
