// SPDX-License-Identifier: Apache-2.0
// A JPEG whose codes are not read on the host: the bytes of its scan that a region needs, and the
// points of the index at which a GPU begins to read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/image.h"
#include "io/packed_jpeg.h"
#include "kernels/jpeg/jpeg_segments.h"

namespace torchdali::io {

// Plain data, except for the lists.
struct JpegCodes {
  int blocks = 0;                           // of an MCU of the file
  std::array<uint8_t, 10> component = {};   // of each of them
  std::array<uint8_t, 3> dc = {}, ac = {};  // tables of the components
  int mcus_per_row = 0, restart_interval = 0;
  int segments_across = 0;  // of each row of MCUs of the region
  int segment_mcus = 0;     // MCUs of a segment
  int first_column = 0;     // of MCUs, where the first segment of a row begins

  std::span<const Bytes> pieces = {};  // of the scan; positions of segments count their bits
  std::span<const kernels::JpegCodeTable> tables = {};
  std::span<const kernels::JpegSegment> segments = {};
};

// Corresponds to pack_jpeg(), if `options.jpeg_index` knows the points of all MCUs that the region
// needs: their codes are valid then. Else, or if the points are forged, returns false. `packed`
// gets no lists. The lists of `codes` are in memory of `scratch`, the pieces in `bytes`.
bool find_jpeg_codes(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                     ScratchMemory& scratch, PackedJpeg& packed, JpegCodes& codes);

}  // namespace torchdali::io
