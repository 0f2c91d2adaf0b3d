// SPDX-License-Identifier: Apache-2.0
// Images in FITS files. Format: FITS Standard 4.0 (IAU, 2018).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/dtype.h"
#include "core/layout.h"
#include "io/arrays/fits_tiles.h"
#include "io/arrays/npy.h"

namespace torchdali::io {

// A header and data unit (HDU), the structure of which a file is a list.
struct FitsUnit {
  std::string kind;             // "PRIMARY", or the type of the extension: "IMAGE", "BINTABLE", ...
  DType stored = DType::kNone;  // type of the elements in the file, which are big-endian
  Shape shape;                  // in the order of C: NAXIS1 is the last extent
  double scale = 1, zero = 0;   // a value is scale * element + zero
  int64_t data_offset = 0, data_bytes = 0;
  std::optional<FitsTiles> tiles;  // of an image that is compressed in a table

  bool is_scaled() const { return scale != 1 || zero != 0; }
  bool is_image() const { return kind == "PRIMARY" || kind == "IMAGE" || tiles; }
  // The type that holds the values, by the rules of CFITSIO.
  DType dtype() const;
};

// Reads the header of unit `number`, from 1 on, of a file of `file_bytes` bytes. Its data is inside
// the file. Raises kData if the file is damaged or has fewer units, kUnsupported for more than 16
// dimensions and for unknown compressions.
FitsUnit find_fits_unit(int64_t file_bytes, const ReadAt& read, int64_t number);

// Converts the `count` elements at `from`, as they are in the file, to values of unit.dtype() at
// `to`. `from` is changed, and is `to` unless the unit is scaled.
void decode_fits_elements(const FitsUnit& unit, void* to, void* from, int64_t count);
// The same of elements in the byte order of memory; nothing if the unit is not scaled.
void scale_fits_elements(const FitsUnit& unit, void* to, const void* from, int64_t count);

}  // namespace torchdali::io
