// SPDX-License-Identifier: Apache-2.0
// One component while a JPEG is decoded: which of its blocks and samples a region needs, and the
// rows of one row of MCUs (with the last of the one before, for smooth upsampling).
#pragma once

#include "io/image.h"
#include "io/jpeg_decoder/header.h"
#include "kernels/jpeg_entropy.h"
#include "kernels/jpeg_rows.h"

namespace torchdali::io::jpeg {

class Plane {
 public:
  // `region` of the picture; takes memory.
  Plane(const Header& header, int component, const Region& region, ScratchMemory& scratch);

  // Rows of MCUs that the region needs of this component: [first, last].
  int first_mcu_row() const { return first_row_ / rows_per_mcu(); }
  int last_mcu_row() const { return (end_row_ - 1) / rows_per_mcu(); }
  // Does an output row look at the rows above and below its own?
  bool has_context() const { return up_.smooth && up_.down == 2; }

  // Fills in what the decoder of codes has to know for block (column, row) of an MCU.
  void describe(int column, int row, kernels::JpegMcuBlock& block) const;
  // How many of the blocks of `row` in MCU row `mcu_row` are wanted.
  int wanted(int mcu_row, int row) const;

  // After the coefficients of an MCU row: their samples.
  void transform(int mcu_row, const int16_t* quant);
  // Samples of row `y` of the picture, from region.x on, as wide as the region; kJpegRowSlack bytes
  // behind them may be read. Valid until the next call.
  const uint8_t* row(int64_t y);
  // Before the next MCU row.
  void keep_context();

 private:
  // Rows kept of the MCU row before; bytes on both sides of a row, for the neighbour of the edge on
  // the left (a vector wide, which keeps blocks aligned) and kJpegRowSlack on the right.
  static constexpr int kContext = 1, kPad = 64;
  static_assert(kPad > kernels::kJpegRowSlack);
  int rows_per_mcu() const { return 8 * v_; }
  uint8_t* sample_row(int64_t row) const {
    return samples_ + (row - mcu_row_ * rows_per_mcu() + kContext) * stride_ + kPad;
  }
  uint8_t* padded_row(int64_t row) const;

  int h_, v_;  // blocks in an MCU
  kernels::JpegUpsampling up_;
  int width_, height_;        // samples
  int first_row_, end_row_;   // samples that the region needs
  int first_block_, blocks_;  // columns of blocks
  int begin_, count_;         // samples of a row that become the output row
  int skip_;                  // upsampled samples before the region
  int64_t groups_, stride_;
  int64_t mcu_row_ = 0;  // in samples_
  int16_t* coefficients_;
  uint8_t* last_;
  uint8_t* samples_;
  uint8_t* upsampled_ = nullptr;
  int16_t* sums_ = nullptr;
};

}  // namespace torchdali::io::jpeg
