// SPDX-License-Identifier: Apache-2.0
// Reads a box of an array that is in a file.
#pragma once

#include <cstdint>
#include <span>

#include "core/layout.h"
#include "io/arrays/npy.h"

namespace torchdali::io {

// How a box is read. Every request has a price, so short runs of the box that are close to each
// other are read at once, with the bytes between them, and then copied.
struct BoxReading {
  // How many bytes could be copied in the time of a request.
  int64_t request_bytes = 0;
  // Memory for runs that are read at once.
  std::span<uint8_t> block;
};

// The box of `extent` elements at `from`, of an array of shape `in` with elements of `itemsize`
// bytes in a file, which goes to the box at `to` of an array of shape `out` in memory. Both have
// the last axis fastest. No extent is 0.
struct ArrayBox {
  int64_t itemsize = 1;
  Shape in, from;
  void* memory = nullptr;
  Shape out, to, extent;
};

// The array begins at `offset` of the file.
void read_box(const ReadAt& read, const BoxReading& how, int64_t offset, const ArrayBox& box);
// The same for a file that is in memory; the array is in it as a whole, or at least the box.
void copy_box(std::span<const uint8_t> file, int64_t offset, const ArrayBox& box);

}  // namespace torchdali::io
