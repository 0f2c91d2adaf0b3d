// SPDX-License-Identifier: Apache-2.0
// The blocks of a TIFF file, strips or tiles, decompressed by libtiff. Internal to io/formats.
#pragma once

#include "io/formats/tiff_header.h"

struct tiff;  // libtiff's TIFF

namespace torchdali::io {

// The size of blocks and the samples in them. A strip is a block of the width of the image.
struct BlockGrid {
  bool tiled = false;
  int64_t height = 0, width = 0;  // of a block
  int planes = 1;                 // 1: the samples of a pixel are side by side
  uint32_t samples = 1;           // side by side
  uint32_t bits = 8;              // of a sample; 16-bit samples have this machine's byte order
  size_t row_bytes() const { return (static_cast<size_t>(width) * samples * bits + 7) / 8; }
  size_t bytes() const { return row_bytes() * static_cast<size_t>(height); }
};

class TiffBlocks {
 public:
  // `header` and `scratch` outlive this.
  TiffBlocks(Bytes bytes, const TiffHeader& header, ScratchMemory& scratch);
  TiffBlocks(const TiffBlocks&) = delete;
  TiffBlocks& operator=(const TiffBlocks&) = delete;
  ~TiffBlocks();

  const BlockGrid& grid() const { return grid_; }
  // Reads the block in a row and column of blocks: the first `rows` of its rows, or more. `out` has
  // grid().bytes().
  void read(int64_t row, int64_t column, int plane, int64_t rows, uint8_t* out);
  // The colors of 8 bits of 2^bits indices.
  void read_palette(uint8_t (*colors)[3]);

 private:
  struct Input {
    Bytes bytes;
    size_t position = 0;
    char message[256] = "";
  };
  struct Client;
  [[noreturn]] void raise_error() const;
  void check(bool good);
  void check_header();
  void find_grid();
  void read_converted(int64_t row, int64_t column, int64_t rows, uint8_t* out);

  Input input_;
  const TiffHeader& header_;
  ScratchMemory& scratch_;
  BlockGrid grid_;
  uint32_t* words_ = nullptr;
  tiff* tiff_ = nullptr;
};

}  // namespace torchdali::io
