// SPDX-License-Identifier: Apache-2.0
// The chunks of a PNG file (ISO/IEC 15948, clauses 5 and 11), if nothing about them is unusual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "io/image.h"

namespace torchdali::io::png {

enum class ColorType : uint8_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

struct Chunks {
  ColorType type = ColorType::kGray;
  int depth = 8;
  int64_t width = 0, height = 0;
  Bytes palette;         // red, green and blue of each entry; empty if there is none
  Bytes image;           // from the first IDAT chunk to the end of the last one
  size_t data_size = 0;  // of the IDAT chunks together
};

int samples_of(ColorType type);              // of a pixel
size_t row_size(const Chunks& chunks);       // bytes of a row, without its filter
size_t unpacked_size(const Chunks& chunks);  // all rows with their filters

// Nothing if the file is interlaced, broken, or unusual in a way that libpng should judge. Checks
// order, sizes and checksums of all chunks; allocates nothing.
std::optional<Chunks> read_chunks(Bytes file);

// Writes the data of the IDAT chunks, chunks.data_size bytes.
void join_data(const Chunks& chunks, uint8_t* to);

}  // namespace torchdali::io::png
