// SPDX-License-Identifier: Apache-2.0
// AVIF through libavif: the first image, 8 to 12 bits, with and without alpha. libavif reads the
// header, too: it is a database of properties of several images.
#include <algorithm>
#include <memory>

#include "io/formats/formats.h"

#ifdef TORCHDALI_HAVE_AVIF
#include <avif/avif.h>
#endif

namespace torchdali::io {

#ifdef TORCHDALI_HAVE_AVIF
namespace {

using AvifDecoder = std::unique_ptr<avifDecoder, void (*)(avifDecoder*)>;

void check_avif(avifResult result, const avifDecoder& decoder) {
  if (result == AVIF_RESULT_OK) return;
  const char* name = avifResultToString(result);
  switch (result) {
    case AVIF_RESULT_OUT_OF_MEMORY:
      raise(ErrorKind::kRuntime, "libavif has no memory for the image");
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
    case AVIF_RESULT_UNSUPPORTED_DEPTH:
      raise(ErrorKind::kUnsupported, "libavif does not support this AVIF file: ", name,
            to_fix("convert the file, or leave it out"));
    default:
      raise(ErrorKind::kData, "the AVIF file is broken or truncated: ", name, ". ",
            decoder.diag.error);
  }
}

// A decoder that has read the header.
AvifDecoder open_avif(Bytes bytes) {
  AvifDecoder decoder(avifDecoderCreate(), avifDecoderDestroy);
  TORCHDALI_CHECK_KIND(kRuntime, decoder, "libavif has no memory for the image");
  decoder->maxThreads = 1;
  decoder->ignoreExif = decoder->ignoreXMP = AVIF_TRUE;
  decoder->imageDimensionLimit = 0;  // `max_pixels` is the limit
  check_avif(avifDecoderSetIOMemory(decoder.get(), bytes.data(), bytes.size()), *decoder);
  check_avif(avifDecoderParse(decoder.get()), *decoder);
  return decoder;
}

// The EXIF orientation of a rotation by quarters, counterclockwise, and a mirror after it (ISO/IEC
// 23008-12, 6.5.10 and 6.5.12).
int avif_orientation(const avifImage& image) {
  constexpr int kTurned[] = {1, 8, 3, 6}, kUpsideDown[] = {4, 5, 2, 7}, kMirrored[] = {2, 7, 4, 5};
  const int quarters = image.transformFlags & AVIF_TRANSFORM_IROT ? image.irot.angle & 3 : 0;
  if ((image.transformFlags & AVIF_TRANSFORM_IMIR) == 0) return kTurned[quarters];
  return image.imir.mode == 0 ? kUpsideDown[quarters] : kMirrored[quarters];
}

}  // namespace

ImageInfo peek_avif(Bytes bytes) {
  const AvifDecoder decoder = open_avif(bytes);
  const avifImage& image = *decoder->image;
  TORCHDALI_CHECK_KIND(kUnsupported, (image.transformFlags & AVIF_TRANSFORM_CLAP) == 0,
                       "AVIF files with a clean aperture (clap) are not supported",
                       to_fix("convert the file, or leave it out"));
  const bool gray = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
  ImageInfo info{.format = ImageFormat::kAvif,
                 .height = image.height,
                 .width = image.width,
                 .channels = gray && !decoder->alphaPresent ? 1
                             : decoder->alphaPresent        ? 4
                                                            : 3,
                 .bit_depth = static_cast<int>(image.depth),
                 .orientation = avif_orientation(image),
                 .alpha = decoder->alphaPresent == AVIF_TRUE};
  check_size(info, bytes, UINT64_MAX);
  return info;
}

void decode_avif(Bytes bytes, const ImageInfo& info, PixelTarget& target) {
  const AvifDecoder decoder = open_avif(bytes);
  decoder->imageSizeLimit = static_cast<uint32_t>(
      std::clamp<int64_t>(info.height * info.width, 1, AVIF_DEFAULT_IMAGE_SIZE_LIMIT));
  check_avif(avifDecoderNextImage(decoder.get()), *decoder);
  const avifImage& image = *decoder->image;
  TORCHDALI_CHECK_KIND(kData,
                       image.width == static_cast<uint32_t>(info.width) &&
                           image.height == static_cast<uint32_t>(info.height) &&
                           image.depth == static_cast<uint32_t>(info.bit_depth),
                       "the AVIF file is broken: its headers contradict each other");
  const bool wide = image.depth > 8;
  // PixelTarget drops it; libavif would blend the image with black.
  const bool alpha = info.alpha;
  const bool gray = info.channels == 1;
  target.open({.model = alpha  ? PixelModel::kRGBA
                        : gray ? PixelModel::kGray
                               : PixelModel::kRGB,
               .wide = wide,
               .gray_rule = GrayRule::kFineNearest});
  avifRGBImage rgb;
  avifRGBImageSetDefaults(&rgb, &image);
  rgb.depth = wide ? 16 : 8;
  rgb.format = alpha ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  rgb.rowBytes = image.width * avifRGBImagePixelSize(&rgb);
  rgb.pixels = static_cast<uint8_t*>(
      target.scratch().allocate(size_t{rgb.rowBytes} * static_cast<size_t>(image.height)));
  check_avif(avifImageYUVToRGB(&image, &rgb), *decoder);
  const Region& region = target.region();
  const size_t pixel_bytes = avifRGBImagePixelSize(&rgb), sample_bytes = wide ? 2 : 1;
  for (int64_t row = 0; row < region.height; ++row) {
    uint8_t* from = rgb.pixels + static_cast<size_t>(region.y + row) * rgb.rowBytes +
                    static_cast<size_t>(region.x) * pixel_bytes;
    if (gray)  // three times the same
      for (int64_t i = 1; i < region.width; ++i)
        std::copy_n(from + static_cast<size_t>(i) * pixel_bytes, sample_bytes,
                    from + static_cast<size_t>(i) * sample_bytes);
    target.write(row, from);
  }
}

#else

ImageInfo peek_avif(Bytes) { raise_missing("AVIF", "libavif", "libavif-dev"); }

void decode_avif(Bytes, const ImageInfo&, PixelTarget&) {
  raise_missing("AVIF", "libavif", "libavif-dev");
}

#endif

}  // namespace torchdali::io
