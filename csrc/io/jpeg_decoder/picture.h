// SPDX-License-Identifier: Apache-2.0
// What a GPU has to know of a JPEG besides its coefficients: the fields of PackedJpeg before its
// lists.
#pragma once

#include "io/jpeg_decoder/header.h"
#include "io/packed_jpeg.h"

namespace torchdali::io::jpeg {

// Determines the pixels to decode, and reads the header. Returns false if the built-in decoder
// cannot decode them, or the file has several scans.
bool read_picture(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                  ScratchMemory& scratch, PackedJpeg& packed, Header& header);
// Determines the components, and which MCUs the region needs.
void describe_mcus(const Header& header, PackedJpeg& packed);

}  // namespace torchdali::io::jpeg
