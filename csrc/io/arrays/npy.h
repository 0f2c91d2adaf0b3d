// SPDX-License-Identifier: Apache-2.0
// Headers of .npy files, versions 1 to 3. Format: numpy/lib/format.py, "NPY format".
#pragma once

#include <cstdint>
#include <functional>

#include "core/dtype.h"
#include "core/layout.h"

namespace torchdali::io {

// An array in a file. Its elements begin at `data_offset`, in C order or, with `fortran_order`,
// with the first axis fastest.
struct NpyHeader {
  DType dtype = DType::kNone;
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape;
  int64_t data_offset = 0;

  int64_t data_bytes() const { return shape.volume() * itemsize(dtype); }
  // The extents in the order of the file: the last axis is the fastest.
  Shape file_shape() const;
};

// Reads `count` bytes from `offset` of a file on.
using ReadAt = std::function<void(void* to, int64_t count, int64_t offset)>;

// Reads the header of a file of `file_bytes` bytes; the array is inside the file. Raises kData if
// the file is damaged, kUnsupported for element types without a counterpart. The header is parsed,
// never evaluated.
NpyHeader read_npy_header(int64_t file_bytes, const ReadAt& read);

// Turns elements that were read from the file into those of memory: byte order, and booleans that
// are neither 0 nor 1.
void decode_npy_elements(const NpyHeader& header, void* elements, int64_t count);

}  // namespace torchdali::io
