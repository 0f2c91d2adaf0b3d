// SPDX-License-Identifier: Apache-2.0
// One component while a JPEG is decoded: which of its blocks and samples a region needs, and the
// rows of one row of MCUs (with the last of the one before, for smooth upsampling).
#pragma once

#include "io/image.h"
#include "io/jpeg_decoder/header.h"
#include "kernels/jpeg/jpeg_entropy.h"
#include "kernels/jpeg/jpeg_rows.h"

namespace torchdali::io::jpeg {

// What libjpeg does for a component whose rows have `width` samples, where blocks of the finest one
// become `block` pixels wide.
kernels::JpegUpsampling choose_upsampling(int across, int down, int width, int block);

class Plane {
 public:
  // `region` of the picture at 1 / `scale` of its size; takes memory. `stored`: coefficients of the
  // whole component are somewhere else, for transform_stored() instead of transform().
  Plane(const Header& header, int component, int scale, bool stored, const Region& region,
        ScratchMemory& scratch);

  // Rows of MCUs that the region needs of this component: [first, last].
  int first_mcu_row() const { return first_row_ / rows_per_mcu(); }
  int last_mcu_row() const { return (end_row_ - 1) / rows_per_mcu(); }
  int first_mcu_column() const { return first_block_ / h_; }
  int last_mcu_column() const { return (first_block_ + blocks_ - 1) / h_; }
  // Whether an output row depends on the rows above and below it.
  bool has_context() const { return up_.smooth && up_.down == 2; }
  // Whether a block becomes one sample, its mean.
  bool dc_only() const { return size_ == 1; }

  // Fills in the input of the entropy decoder for block (column, row) of an MCU. `half`: 0 or 1, of
  // the memory, which has coefficients of two MCU rows.
  void describe(int column, int row, int half, kernels::JpegMcuBlock& block) const;
  // How many blocks of `row` in MCU row `mcu_row` are needed.
  int wanted(int mcu_row, int row) const;

  // Computes the samples of an MCU row from its coefficients, which become zero.
  void transform(int mcu_row, int half, const int16_t* quant);
  // The same for one of its rows of blocks: coefficients from the first block of the row on, in
  // groups, which become zero; `present`: 0 for blocks without AC.
  void transform_stored(int mcu_row, int row, const int16_t* quant, int16_t* coefficients,
                        const uint64_t* present);
  // Samples of row `y` of the picture, from region.x on, as wide as the region; kJpegRowSlack bytes
  // after them may be read. Valid until the next call.
  const uint8_t* row(int64_t y);
  // Before the next MCU row.
  void keep_context();

 private:
  // Rows kept of the MCU row before; bytes on both sides of a row, for the neighbor of the left
  // edge (a vector wide, which keeps blocks aligned) and kJpegRowSlack on the right.
  static constexpr int kContext = 1, kPad = 64;
  static_assert(kPad > kernels::kJpegRowSlack);
  int rows_per_mcu() const { return size_ * v_; }
  uint8_t* sample_row(int64_t row) const {
    return samples_ + (row - mcu_row_ * rows_per_mcu() + kContext) * stride_ + kPad;
  }
  uint8_t* padded_row(int64_t row) const;
  void transform_row(int row, const int16_t* quant, int16_t* coefficients, const uint8_t* last);

  int h_, v_;  // blocks in an MCU
  int size_;   // samples of a block across and down
  kernels::JpegUpsampling up_;
  int width_, height_;        // samples
  int first_row_, end_row_;   // samples that the region needs
  int first_block_, blocks_;  // columns of blocks
  int begin_, count_;         // samples of a row that become the output row
  int skip_;                  // upsampled samples before the region
  int64_t groups_, stride_;
  int64_t mcu_row_ = 0;  // in samples_
  int16_t* coefficients_ = nullptr;
  uint8_t* last_;
  uint8_t* samples_;
  uint8_t* upsampled_ = nullptr;
  int16_t* sums_ = nullptr;
};

}  // namespace torchdali::io::jpeg
