// SPDX-License-Identifier: Apache-2.0
// A JPEG whose codes were read and whose pixels are somebody else's work (a GPU's): coefficients of
// the MCUs that a region needs, packed, and what has to be known of the file.
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

// Plain data but for the lists.
struct PackedJpeg {
  int components = 0;  // that are packed: one where gray is wanted
  std::array<PackedJpegComponent, 3> component = {};
  bool rgb = false;              // no color transform
  int64_t mcu_x = 0, mcu_y = 0;  // first MCU that is packed
  int mcus_across = 0, mcus_down = 0;
  int64_t picture_width = 0, picture_height = 0;
  Region region;  // that is wanted, in stored pixels; then the axes change places, and so on
  bool transpose = false, flip_rows = false, flip_columns = false;  // io/pixel_target.h
  bool bgr = false;
  int channels = 3;  // of the output; gray stands for all three

  // kernels/jpeg/jpeg_entropy.h has what they hold. Blocks come in the order of the file. The lists
  // of beginnings have an entry for the end of the last block too.
  std::span<const uint32_t> bases = {};
  std::span<const uint16_t> starts = {}, units = {};
};

// Does the work that decode_image() does for pixels of uint8. False where the file is none of those
// that our decoder takes, or pixels are asked for that take more: then decode_image() has to make
// them. The lists are memory of `scratch`.
bool pack_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
               ScratchMemory& scratch, PackedJpeg& packed);

// Whether another decoder may be asked for the pixels of `options`, of uint8: a JPEG that our
// decoder takes, with colors that are YCbCr in the file or gray in both, upright. Sets what
// `packed` says of the picture and its region, no more.
bool describe_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                   ScratchMemory& scratch, PackedJpeg& packed);

}  // namespace torchdali::io
