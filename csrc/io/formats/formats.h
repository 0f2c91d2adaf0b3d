// SPDX-License-Identifier: Apache-2.0
// The functions of each format, for io/image.cpp. Internal to io/. The bytes for peek_*() begin
// with the signature of the format; decode_*() writes the rows of target.region().
#pragma once

#include "io/image.h"
#include "io/pixel_target.h"

namespace torchdali::io {

ImageInfo peek_jpeg(Bytes bytes);
ImageInfo peek_png(Bytes bytes);
ImageInfo peek_bmp(Bytes bytes);
ImageInfo peek_pnm(Bytes bytes);
ImageInfo peek_tiff(Bytes bytes);
ImageInfo peek_webp(Bytes bytes);
ImageInfo peek_jpeg2000(Bytes bytes);
ImageInfo peek_avif(Bytes bytes);
ImageInfo peek_jxl(Bytes bytes);

// `info` of the file; `target` is of the picture at 1 / options.scale.
void decode_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                 PixelTarget& target);
// See prepare_decode().
std::unique_ptr<PairableDecode> prepare_jpeg(Bytes bytes, const ImageInfo& info,
                                             const DecodeOptions& options, PixelTarget& target);
void decode_png(Bytes bytes, const ImageInfo& info, PixelTarget& target);
void decode_bmp(Bytes bytes, const ImageInfo& info, PixelTarget& target);
void decode_pnm(Bytes bytes, const ImageInfo& info, PixelTarget& target);
void decode_tiff(Bytes bytes, const ImageInfo& info, PixelTarget& target);
void decode_webp(Bytes bytes, const ImageInfo& info, PixelTarget& target);
void decode_jpeg2000(Bytes bytes, const ImageInfo& info, PixelTarget& target);
void decode_avif(Bytes bytes, const ImageInfo& info, PixelTarget& target);
void decode_jxl(Bytes bytes, const ImageInfo& info, PixelTarget& target);

// Raises an error for sizes that are zero, or too large for `bytes` even at the best compression of
// the format, before any memory is allocated.
void check_size(const ImageInfo& info, Bytes bytes, uint64_t max_pixels);

// Raises the error of a build without the library of a format.
[[noreturn]] void raise_missing(const char* format, const char* library, const char* package);

}  // namespace torchdali::io
