// SPDX-License-Identifier: Apache-2.0
// A JPEG whose codes have been read on the host and whose pixels are computed elsewhere (on a GPU):
// the packed coefficients of the MCUs that a region needs, and the required fields of the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/image.h"
#include "kernels/jpeg/jpeg_rows.h"

namespace torchdali::io {

struct PackedJpegComponent {
  int h = 1, v = 1;                    // blocks in an MCU
  int64_t width = 0, height = 0;       // samples of the whole picture
  kernels::JpegUpsampling up;          // to the size of the picture
  std::array<int16_t, 64> quant = {};  // in natural order
};

// Plain data, except for the lists.
struct PackedJpeg {
  int components = 0;  // that are packed; one for gray output
  std::array<PackedJpegComponent, 3> component = {};
  bool rgb = false;              // no color transform
  int64_t mcu_x = 0, mcu_y = 0;  // first MCU that is packed
  int mcus_across = 0, mcus_down = 0;
  int64_t picture_width = 0, picture_height = 0;
  Region region;  // in stored pixels, before orientation
  bool transpose = false, flip_rows = false, flip_columns = false;  // io/pixel_target.h
  bool bgr = false;
  int channels = 3;  // of the output; gray stands for all three

  // Described in kernels/jpeg/jpeg_entropy.h. Blocks are in the order of the file. The lists of
  // offsets also have an entry for the end of the last block.
  std::span<const uint32_t> bases = {};
  std::span<const uint16_t> starts = {}, units = {};
};

// Corresponds to decode_image() for pixels of uint8. Returns false if the built-in decoder does not
// support the file or the options; use decode_image() then. The lists are in memory of `scratch`.
bool pack_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
               ScratchMemory& scratch, PackedJpeg& packed);

// Whether another decoder can compute the pixels for `options`, of uint8: a JPEG that the built-in
// decoder supports, with YCbCr in the file or gray in file and output, without rotation. Sets only
// the fields of `packed` about the picture and its region.
bool describe_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                   ScratchMemory& scratch, PackedJpeg& packed);

}  // namespace torchdali::io
