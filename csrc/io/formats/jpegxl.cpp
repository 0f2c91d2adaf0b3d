// SPDX-License-Identifier: Apache-2.0
// JPEG XL through libjxl: the first frame, gray or RGB, with and without alpha. libjxl reads the
// header, too: it is compressed.
#include <algorithm>
#include <memory>

#include "io/formats/formats.h"

#ifdef TORCHDALI_HAVE_JXL
#include <jxl/decode.h>
#endif

namespace torchdali::io {

#ifdef TORCHDALI_HAVE_JXL
namespace {

using JxlHandle = std::unique_ptr<JxlDecoder, void (*)(JxlDecoder*)>;

// A decoder that stops at the next of some events, and at the end of the file.
JxlHandle open_jxl(Bytes bytes, int events) {
  JxlHandle decoder(JxlDecoderCreate(nullptr), JxlDecoderDestroy);
  TORCHDALI_CHECK_KIND(kRuntime, decoder, "libjxl has no memory for the image");
  const bool good =
      JxlDecoderSubscribeEvents(decoder.get(), events) == JXL_DEC_SUCCESS &&
      JxlDecoderSetKeepOrientation(decoder.get(), JXL_TRUE) == JXL_DEC_SUCCESS &&
      JxlDecoderSetInput(decoder.get(), bytes.data(), bytes.size()) == JXL_DEC_SUCCESS;
  TORCHDALI_CHECK_KIND(kRuntime, good, "libjxl could not start");
  JxlDecoderCloseInput(decoder.get());
  return decoder;
}

void expect_jxl(JxlDecoder* decoder, JxlDecoderStatus expected) {
  const JxlDecoderStatus status = JxlDecoderProcessInput(decoder);
  TORCHDALI_CHECK_KIND(kData, status != JXL_DEC_NEED_MORE_INPUT,
                       "the JPEG XL file is truncated: it ends before the picture does");
  TORCHDALI_CHECK_KIND(kData, status == expected, "the JPEG XL file is broken (libjxl's status ",
                       static_cast<int>(status), ")");
}

}  // namespace

ImageInfo peek_jxl(Bytes bytes) {
  const JxlHandle decoder = open_jxl(bytes, JXL_DEC_BASIC_INFO);
  expect_jxl(decoder.get(), JXL_DEC_BASIC_INFO);
  JxlBasicInfo basic;
  TORCHDALI_CHECK_KIND(kData, JxlDecoderGetBasicInfo(decoder.get(), &basic) == JXL_DEC_SUCCESS,
                       "the JPEG XL file is broken");
  const bool alpha = basic.alpha_bits > 0;
  ImageInfo info{.format = ImageFormat::kJpegXl,
                 .height = basic.ysize,
                 .width = basic.xsize,
                 .channels = static_cast<int>(basic.num_color_channels) + (alpha ? 1 : 0),
                 .bit_depth = static_cast<int>(std::min(basic.bits_per_sample, 16u)),
                 .orientation = static_cast<int>(basic.orientation),
                 .alpha = alpha};
  check_size(info, bytes, UINT64_MAX);
  return info;
}

void decode_jxl(Bytes bytes, const ImageInfo& info, PixelTarget& target) {
  const JxlHandle decoder = open_jxl(bytes, JXL_DEC_FULL_IMAGE);
  expect_jxl(decoder.get(), JXL_DEC_NEED_IMAGE_OUT_BUFFER);
  const bool wide = info.bit_depth > 8;
  const int channels = info.channels;
  target.open({.model = channels == 1   ? PixelModel::kGray
                        : channels == 2 ? PixelModel::kGrayAlpha
                        : channels == 3 ? PixelModel::kRGB
                                        : PixelModel::kRGBA,
               .wide = wide,
               .gray_rule = GrayRule::kFineNearest});
  const JxlPixelFormat format{.num_channels = static_cast<uint32_t>(channels),
                              .data_type = wide ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8,
                              .endianness = JXL_NATIVE_ENDIAN,
                              .align = 0};
  const size_t pixel_bytes = static_cast<size_t>(channels) * (wide ? 2 : 1);
  const size_t row_bytes = static_cast<size_t>(info.width) * pixel_bytes;
  const size_t size = row_bytes * static_cast<size_t>(info.height);
  auto* pixels = static_cast<uint8_t*>(target.scratch().allocate(size));
  TORCHDALI_CHECK_KIND(
      kData, JxlDecoderSetImageOutBuffer(decoder.get(), &format, pixels, size) == JXL_DEC_SUCCESS,
      "the JPEG XL file is broken: its headers contradict each other");
  expect_jxl(decoder.get(), JXL_DEC_FULL_IMAGE);
  const Region& region = target.region();
  for (int64_t row = 0; row < region.height; ++row)
    target.write(row, pixels + static_cast<size_t>(region.y + row) * row_bytes +
                          static_cast<size_t>(region.x) * pixel_bytes);
}

#else

ImageInfo peek_jxl(Bytes) { raise_missing("JPEG XL", "libjxl", "libjxl-dev"); }

void decode_jxl(Bytes, const ImageInfo&, PixelTarget&) {
  raise_missing("JPEG XL", "libjxl", "libjxl-dev");
}

#endif

}  // namespace torchdali::io
