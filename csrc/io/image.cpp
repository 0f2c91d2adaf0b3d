// SPDX-License-Identifier: Apache-2.0
// Recognizes formats by their first bytes and calls the decoders.
#include "io/image.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "io/formats/formats.h"

namespace torchdali::io {
namespace {

using namespace std::string_view_literals;

constexpr const char* kDecoded = "JPEG, PNG, BMP, PNM, TIFF, WebP, JPEG 2000, AVIF and JPEG XL";

bool starts_with(Bytes bytes, std::string_view signature, size_t at = 0) {
  return bytes.size() >= at + signature.size() &&
         std::memcmp(bytes.data() + at, signature.data(), signature.size()) == 0;
}

bool is_pnm(Bytes b) {
  if (b.size() < 3 || b[0] != 'P' || b[1] < '1' || b[1] > '6') return false;
  return b[2] == '#' || b[2] == ' ' || (b[2] >= '\t' && b[2] <= '\r');
}

bool is_tiff(Bytes b) {
  return starts_with(b, "II*\0"sv) || starts_with(b, "MM\0*"sv) ||  // TIFF
         starts_with(b, "II+\0"sv) || starts_with(b, "MM\0+"sv);    // BigTIFF
}

bool is_webp(Bytes b) { return starts_with(b, "RIFF"sv) && starts_with(b, "WEBP"sv, 8); }

bool is_jpeg2000(Bytes b) {
  return starts_with(b, "\0\0\0\x0CjP  \r\n\x87\n"sv) ||  // JP2
         starts_with(b, "\xFF\x4F\xFF\x51"sv);            // a bare codestream
}

// AVIF is one of the compatible brands (ISO/IEC 14496-12, 4.3).
bool is_avif(Bytes b) {
  if (!starts_with(b, "ftyp"sv, 4)) return false;
  const size_t size = std::min<size_t>(b[2] << 8 | b[3], b.size());  // has a few brands
  for (size_t at = 8; at + 4 <= size; at += 4)
    if (starts_with(b, "avif"sv, at) || starts_with(b, "avis"sv, at)) return true;
  return false;
}

bool is_jxl(Bytes b) {
  return starts_with(b, "\xFF\x0A"sv) || starts_with(b, "\0\0\0\x0CJXL \r\n\x87\n"sv);
}

// Names of formats that are recognized but not decoded, or nullptr.
const char* unsupported_format(Bytes b) {
  if (starts_with(b, "GIF87a"sv) || starts_with(b, "GIF89a"sv)) return "GIF";
  if (starts_with(b, "P7\n"sv)) return "PAM";
  if (starts_with(b, "PF\n"sv) || starts_with(b, "Pf\n"sv)) return "PFM";
  if (starts_with(b, "II\xBC"sv)) return "JPEG XR";
  if (starts_with(b, "ftyphei"sv, 4) || starts_with(b, "ftypmif1"sv, 4)) return "HEIF";
  return nullptr;
}

// The first bytes as in a hex editor: "ff d8 ff".
std::string first_bytes(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr size_t kShown = 12;
  std::string out;
  for (uint8_t b : bytes.first(std::min(bytes.size(), kShown))) {
    if (!out.empty()) out += ' ';
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out + (bytes.size() > kShown ? " ..." : "");
}

}  // namespace

const char* image_format_name(ImageFormat format) {
  constexpr const char* kNames[] = {"JPEG", "PNG",       "BMP",  "PNM",    "TIFF",
                                    "WebP", "JPEG 2000", "AVIF", "JPEG XL"};
  return kNames[static_cast<int>(format)];
}

void check_size(const ImageInfo& info, Bytes bytes, uint64_t max_pixels) {
  const char* name = image_format_name(info.format);
  TORCHDALI_CHECK_KIND(kData, info.height > 0 && info.width > 0, "the ", name,
                       " file is broken: it claims ", info.height, " x ", info.width, " pixels");
  // Extents are below 2^32 in every format, so this cannot overflow 64 bits.
  const uint64_t pixels = static_cast<uint64_t>(info.height) * static_cast<uint64_t>(info.width);
  TORCHDALI_CHECK_KIND(kData, pixels <= max_pixels, "the ", name,
                       " file is broken or truncated: its header claims ", info.height, " x ",
                       info.width, " pixels, more than its ", bytes.size(), " bytes can hold");
}

void raise_missing(const char* format, const char* library, const char* package) {
  raise(ErrorKind::kUnsupported, "this build of torchdali cannot decode ", format,
        ": the headers of ", library, " were missing. Install them (Debian, Ubuntu: ", package,
        ") and build torchdali again");
}

ImageInfo peek_image(Bytes bytes) {
  TORCHDALI_CHECK_KIND(kData, !bytes.empty(), "the file is empty (0 bytes), not an image");
  if (starts_with(bytes, "\xFF\xD8\xFF"sv)) return peek_jpeg(bytes);
  if (starts_with(bytes, "\x89PNG\r\n\x1A\n"sv)) return peek_png(bytes);
  if (starts_with(bytes, "BM"sv)) return peek_bmp(bytes);
  if (is_pnm(bytes)) return peek_pnm(bytes);
  if (is_tiff(bytes)) return peek_tiff(bytes);
  if (is_webp(bytes)) return peek_webp(bytes);
  if (is_jpeg2000(bytes)) return peek_jpeg2000(bytes);
  if (is_avif(bytes)) return peek_avif(bytes);
  if (is_jxl(bytes)) return peek_jxl(bytes);
  if (const char* name = unsupported_format(bytes))
    raise(ErrorKind::kUnsupported, "this is ", name, ", which torchdali does not decode ",
          "yet, only ", kDecoded, ". Convert the file, or leave it out");
  raise(ErrorKind::kData, "not an image: no known format begins with the bytes ",
        first_bytes(bytes), " (", bytes.size(), " bytes in all). Decoded are ", kDecoded);
}

ImageInfo scaled_info(ImageInfo info, int scale) {
  info.height = (info.height + scale - 1) / scale;
  info.width = (info.width + scale - 1) / scale;
  return info;
}

bool can_scale(const ImageInfo& info) { return info.format == ImageFormat::kJpeg; }

ImageShape decoded_shape(const ImageInfo& info, ImageType type, bool adjust_orientation) {
  ImageShape shape{.height = info.height, .width = info.width, .channels = 3};
  if (adjust_orientation && info.orientation >= 5) std::swap(shape.height, shape.width);
  if (type == ImageType::kGray) shape.channels = 1;
  else if (type == ImageType::kAnyData) shape.channels = info.channels;
  return shape;
}

void decode_image(Bytes bytes, const ImageInfo& info, const DecodeOptions& options, void* out,
                  int64_t row_stride, ScratchMemory& scratch) {
  TORCHDALI_ASSERT(options.scale == 1 || can_scale(info), "a scale of ", options.scale);
  PixelTarget target(scaled_info(info, options.scale), options, out, row_stride, scratch);
  if (target.region().height == 0 || target.region().width == 0) return;
  switch (info.format) {
    case ImageFormat::kJpeg: return decode_jpeg(bytes, info, options, target);
    case ImageFormat::kPng: return decode_png(bytes, info, target);
    case ImageFormat::kBmp: return decode_bmp(bytes, info, target);
    case ImageFormat::kPnm: return decode_pnm(bytes, info, target);
    case ImageFormat::kTiff: return decode_tiff(bytes, info, target);
    case ImageFormat::kWebp: return decode_webp(bytes, info, target);
    case ImageFormat::kJpeg2000: return decode_jpeg2000(bytes, info, target);
    case ImageFormat::kAvif: return decode_avif(bytes, info, target);
    case ImageFormat::kJpegXl: return decode_jxl(bytes, info, target);
  }
}

std::unique_ptr<PairableDecode> prepare_decode(Bytes bytes, const ImageInfo& info,
                                               const DecodeOptions& options, void* out,
                                               int64_t row_stride, ScratchMemory& scratch) {
  if (info.format != ImageFormat::kJpeg) return nullptr;
  PixelTarget target(scaled_info(info, options.scale), options, out, row_stride, scratch);
  if (target.region().height == 0 || target.region().width == 0) return nullptr;
  return prepare_jpeg(bytes, info, options, target);
}

}  // namespace torchdali::io
