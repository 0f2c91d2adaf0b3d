// SPDX-License-Identifier: Apache-2.0
// Encoded images: their headers and pixels. BMP, PNM and common JPEG files are decoded here; other
// files by the libraries of their formats, if the build found them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/dtype.h"
#include "core/image/pairable_decode.h"
#include "core/schema.h"

namespace torchdali::io {

namespace jpeg {
class Index;  // io/jpeg_decoder/index/index.h
}

using Bytes = std::span<const uint8_t>;

enum class ImageFormat : int8_t {
  kJpeg,
  kPng,
  kBmp,
  kPnm,
  kTiff,
  kWebp,
  kJpeg2000,
  kAvif,
  kJpegXl
};
const char* image_format_name(ImageFormat format);  // "JPEG", ...

// The contents of the header. Sizes are those of the stored pixels, before orientation.
struct ImageInfo {
  ImageFormat format = ImageFormat::kJpeg;
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;     // of ImageType::kAnyData: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA or CMYK
  int bit_depth = 8;    // of one stored sample (of an index, with a palette)
  int orientation = 1;  // EXIF 2.32, tag 0x0112; 1 if missing or invalid
  bool palette = false;
  bool alpha = false;
  bool cmyk = false;
};

// A rectangle of the image, after orientation if that is applied.
struct Region {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 0;
  int64_t width = 0;
};

struct DecodeOptions {
  ImageType type = ImageType::kRGB;
  DType dtype = DType::kUInt8;  // uint8, int8, uint16, int16, uint32, int32 or float32
  bool adjust_orientation = true;
  bool fast_idct = false;  // JPEG: a faster, less exact inverse DCT
  // JPEG: decode at 1 / scale of the size; 1, 2, 4 or 8. `region` is in pixels of that smaller
  // picture. Each of its pixels is the mean of scale x scale pixels, taken before upsampling and
  // color.
  int scale = 1;
  std::optional<Region> region = {};  // whole image if absent
  jpeg::Index* jpeg_index = nullptr;  // JPEG: makes regions faster the second time
  bool all_points = false;            // pack_jpeg(): adds all points of the image to the index
};

// Height, width and channels of the decoded whole image.
struct ImageShape {
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;
};

// Temporary memory for a decoder: 64-byte aligned, valid until decode_image() returns.
class ScratchMemory {
 public:
  virtual ~ScratchMemory() = default;
  virtual void* allocate(size_t bytes) = 0;
};

// Reads the header, without decoding. Microseconds; bounded by the size of `bytes`. Raises kData if
// the bytes are not an image, or its header is broken or claims a size that a file of this length
// cannot contain; kUnsupported for formats that are recognized but not decoded.
ImageInfo peek_image(Bytes bytes);

// The header of the picture at 1 / scale, with extents rounded up.
ImageInfo scaled_info(ImageInfo info, int scale);
// Whether decode_image() can scale this image.
bool can_scale(const ImageInfo& info);

ImageShape decoded_shape(const ImageInfo& info, ImageType type, bool adjust_orientation);

// Writes the pixels of `options.region` as [height, width, channels] of `options.dtype`, rows
// `row_stride` bytes apart, to `out`. `info` is the result of peek_image(bytes), for any scale.
// Integers span the range of their type (255 becomes the largest value), floats span 0 to 1. Only
// kAnyData keeps alpha; CMYK as kAnyData is ink coverage, where 0 is none. The pixels of a region
// are exactly those of the whole image; decoding stops after its last row. Any thread. Raises kData
// if the file is broken or ends before the region does; `out` is then undefined. Raises
// kUnsupported if torchdali was built without the codec.
void decode_image(Bytes bytes, const ImageInfo& info, const DecodeOptions& options, void* out,
                  int64_t row_stride, ScratchMemory& scratch);

// One thread prepares decoding two images, then decodes them together, which takes less time.
// Arguments as for decode_image(); all of them have to stay valid. Null for images that are not
// decoded together. Whatever is not complete afterwards has to be decoded by decode_image().
std::unique_ptr<PairableDecode> prepare_decode(Bytes bytes, const ImageInfo& info,
                                               const DecodeOptions& options, void* out,
                                               int64_t row_stride, ScratchMemory& scratch);

// Raises kType if decode_image() cannot produce this dtype.
void check_decoder_dtype(DType dtype);

}  // namespace torchdali::io
