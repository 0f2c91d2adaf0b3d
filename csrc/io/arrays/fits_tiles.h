// SPDX-License-Identifier: Apache-2.0
// Compressed images in FITS files: a binary table has a row for each tile of the image, and the
// compressed tiles are in its heap. Format: FITS Standard 4.0 (IAU, 2018), section 10.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/dtype.h"
#include "core/layout.h"
#include "io/arrays/fits_header.h"
#include "io/arrays/npy.h"

namespace torchdali::io {

// A column of a table; absent if `type` is 0.
struct FitsColumn {
  char type = 0;       // of the elements, such as 'B' for bytes and 'D' for doubles
  char array = 0;      // 'P' or 'Q' if a row has the place of an array in the heap
  int64_t offset = 0;  // in a row
  explicit operator bool() const { return type != 0; }
};

struct FitsTiles {
  enum class Method { kRice, kGzip1, kGzip2, kPlio, kHcompress, kNone };
  enum class Dither { kNone, kPlain, kWithZeros };

  int64_t unit = 0;             // number of the HDU
  DType stored = DType::kNone;  // type of the elements of the image
  Shape shape, tile;            // in the order of C; tiles at the ends may be smaller
  Method method = Method::kNone;
  int64_t rice_block = 32, rice_width = 4;
  bool hcompress_smooth = false;

  int64_t rows = 0, row_bytes = 0, table_offset = 0;
  int64_t heap_offset = 0, heap_bytes = 0;
  FitsColumn compressed, gzipped, plain;

  // Of images of floating point that are stored as integers of 32 bits.
  bool quantized = false;
  FitsColumn scale_column, zero_column, blank_column;
  double scale = 1, zero = 0;
  std::optional<int64_t> blank;  // the integer for NaN
  Dither dither = Dither::kNone;
  int64_t dither_seed = 1;
};

// Raises kData if the header is damaged, kUnsupported for other methods of compression. The table
// with its heap has `bytes` bytes, which are inside the file.
FitsTiles parse_fits_tiles(const FitsHeader& header, int64_t bytes);

// Decompresses the image, in the byte order of memory, into allocate(). Before, it checks that the
// tiles have enough bytes for the image. Raises kData if a tile is damaged.
void read_fits_tiles(const FitsTiles& tiles, const ReadAt& read,
                     const std::function<void*()>& allocate);

}  // namespace torchdali::io
