// SPDX-License-Identifier: Apache-2.0
// WebP through libwebp: lossy and lossless, with and without alpha, no animations. The header is
// read here, so that peeking needs no library.
// Sources: RFC 9649 (the container and lossless images), RFC 6386, 9.1 (frames of VP8).
#include <algorithm>
#include <cstring>

#include "io/bytes.h"
#include "io/exif.h"
#include "io/formats/formats.h"

#ifdef TORCHDALI_HAVE_WEBP
#include <webp/decode.h>
#endif

namespace torchdali::io {
namespace {

constexpr size_t kChunkHeader = 8;

// The next chunk of the file; `data` ends with the file if the chunk claims to be longer.
struct WebpChunk {
  Bytes name, data;
  bool is(const char* other) const { return std::memcmp(name.data(), other, 4) == 0; }
};
WebpChunk next_chunk(ByteReader& reader) {
  WebpChunk chunk;
  chunk.name = reader.take(4);
  const size_t size = reader.u32();
  chunk.data = reader.take(std::min(size, reader.left()));
  if (size % 2 && reader.left()) reader.skip(1);
  return chunk;
}

void read_lossy_size(Bytes data, ImageInfo& info) {
  constexpr uint8_t kStartCode[] = {0x9D, 0x01, 0x2A};
  ByteReader reader(data);
  const bool key_frame = (reader.u8() & 1) == 0;
  reader.skip(2);
  const Bytes code = reader.take(3);
  TORCHDALI_CHECK_KIND(kData,
                       key_frame && std::equal(code.begin(), code.end(), std::begin(kStartCode)),
                       "the WebP file is broken: its VP8 chunk does not begin with a key frame");
  constexpr int kExtentMask = 0x3FFF;  // the upper bits are a scale for players
  info.width = reader.u16() & kExtentMask;
  info.height = reader.u16() & kExtentMask;
}

void read_lossless_size(Bytes data, ImageInfo& info) {
  ByteReader reader(data);
  TORCHDALI_CHECK_KIND(kData, reader.u8() == 0x2F,
                       "the WebP file is broken: its VP8L chunk has no signature");
  const uint32_t bits = reader.u32();
  info.width = (bits & 0x3FFF) + 1;
  info.height = (bits >> 14 & 0x3FFF) + 1;
  info.alpha = (bits >> 28 & 1) != 0;
}

}  // namespace

ImageInfo peek_webp(Bytes bytes) {
  constexpr uint8_t kAnimation = 0x02, kAlpha = 0x10;
  ImageInfo info{.format = ImageFormat::kWebp};
  ByteReader reader(bytes);
  reader.skip(12);
  bool extended = false, found = false;
  int64_t canvas_width = 0, canvas_height = 0;
  while (!found || (extended && reader.left() >= kChunkHeader)) {
    const WebpChunk chunk = next_chunk(reader);
    if (chunk.is("VP8X") && !extended) {
      ByteReader header(chunk.data);
      const uint8_t flags = header.u8();
      TORCHDALI_CHECK_KIND(kUnsupported, (flags & kAnimation) == 0,
                           "animated WebP files are not supported",
                           to_fix("extract a frame, or leave the file out"));
      extended = true;
      info.alpha = (flags & kAlpha) != 0;
      header.skip(3);
      canvas_width = header.u16() + 1;
      canvas_width += header.u8() << 16;
      canvas_height = header.u16() + 1;
      canvas_height += header.u8() << 16;
    } else if (chunk.is("VP8 ") && !found) {
      read_lossy_size(chunk.data, info);
      found = true;
    } else if (chunk.is("VP8L") && !found) {
      read_lossless_size(chunk.data, info);
      found = true;
    } else if (chunk.is("EXIF")) {
      info.orientation = exif_orientation(chunk.data).value_or(1);
    }
  }
  TORCHDALI_CHECK_KIND(kData,
                       !extended || (canvas_width == info.width && canvas_height == info.height),
                       "the WebP file is broken: its canvas has ", canvas_height, " x ",
                       canvas_width, " pixels, its image ", info.height, " x ", info.width);
  info.channels = info.alpha ? 4 : 3;
  // Flat images may take no bits at all, but an extent has 14 bits.
  check_size(info, bytes, UINT64_MAX);
  return info;
}

#ifdef TORCHDALI_HAVE_WEBP
namespace {

[[noreturn]] void raise_webp(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      raise(ErrorKind::kRuntime, "libwebp has no memory for the image");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      raise(ErrorKind::kData, "the WebP file is truncated: it ends before the picture does");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      raise(ErrorKind::kUnsupported, "libwebp does not support this WebP file",
            to_fix("convert the file, or leave it out"));
    default: raise(ErrorKind::kData, "the WebP file is broken (libwebp's status ", status, ")");
  }
}

// Pixels to decode along an axis.
struct Span {
  int begin = 0, end = 0;
};

// Chroma is upsampled from neighbors, and is stored for every second pixel.
Span with_neighbors(int64_t begin, int64_t extent, int64_t all) {
  constexpr int64_t kMargin = 2;
  return {static_cast<int>(std::max<int64_t>(begin - kMargin, 0) & ~int64_t{1}),
          static_cast<int>(std::min(begin + extent + kMargin, all))};
}

}  // namespace

void decode_webp(Bytes bytes, const ImageInfo& info, PixelTarget& target) {
  const Region& region = target.region();
  const bool alpha = info.alpha && target.type() == ImageType::kAnyData;
  const bool bgr = target.type() == ImageType::kBGR;
  target.open({.model = alpha ? PixelModel::kRGBA
                        : bgr ? PixelModel::kBGR
                              : PixelModel::kRGB,
               .gray_rule = GrayRule::kFineNearest});
  WebPDecoderConfig config;
  TORCHDALI_CHECK_KIND(kRuntime, WebPInitDecoderConfig(&config), "libwebp has another version");
  const Span x = with_neighbors(region.x, region.width, info.width);
  Span y = with_neighbors(region.y, region.height, info.height);
  // libwebp predicts alpha in the first row of a crop as if there were no row above (1.2.4;
  // the horizontal filter of lossy files).
  if (alpha) y.begin = 0;
  const int64_t width = x.end - x.begin, height = y.end - y.begin;
  if (width != info.width || height != info.height) {
    config.options.use_cropping = 1;
    config.options.crop_left = x.begin;
    config.options.crop_top = y.begin;
    config.options.crop_width = static_cast<int>(width);
    config.options.crop_height = static_cast<int>(height);
  }
  // In place if libwebp writes exactly the required pixels.
  auto* out = static_cast<uint8_t*>(target.direct(0));
  const int samples = alpha ? 4 : 3;
  int64_t stride = width * samples;
  if (out && height > 1) {
    const auto* next = static_cast<uint8_t*>(target.direct(1));
    stride = next - out;
  }
  const bool in_place =
      out && stride >= width * samples && width == region.width && height == region.height;
  if (!in_place) {
    stride = width * samples;
    out = static_cast<uint8_t*>(target.scratch().allocate(static_cast<size_t>(stride * height)));
  }
  config.output.colorspace = alpha ? MODE_RGBA : bgr ? MODE_BGR : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = out,
                          .stride = static_cast<int>(stride),
                          .size = static_cast<size_t>(stride * (height - 1) + width * samples)};
  const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) raise_webp(status);
  if (in_place) return;
  for (int64_t row = 0; row < region.height; ++row)
    target.write(row, out + (region.y - y.begin + row) * stride + (region.x - x.begin) * samples);
}

#else

void decode_webp(Bytes, const ImageInfo&, PixelTarget&) {
  raise_missing("WebP", "libwebp", "libwebp-dev");
}

#endif

}  // namespace torchdali::io
