// SPDX-License-Identifier: Apache-2.0
// Reads the codes of a sequential scan as far as a region needs them: rows of MCUs, restart
// intervals, and the points of the index. Derived classes process the codes.
#pragma once

#include <array>
#include <functional>

#include "io/jpeg_decoder/header.h"
#include "io/jpeg_decoder/index/index.h"
#include "io/jpeg_decoder/index/seek_points.h"
#include "io/jpeg_decoder/scan/scan_bytes.h"

namespace torchdali::io::jpeg {

class ScanReader {
 public:
  // With `seek`, uses known points and adds new ones on the way.
  ScanReader(const Header& header, ScratchMemory& scratch, SeekPoints* seek);
  virtual ~ScanReader() = default;

 protected:
  // Reads at least MCUs [first, last] of row `mcu_row`, and as little else as possible. Rows must
  // ascend. Returns false if the codes are broken.
  bool read_row(int mcu_row, int first, int last);
  int mcus_per_row() const { return grid_.mcus_per_row; }
  // Whether the points of row `mcu_row` are known, and that its codes are valid.
  bool is_known(int mcu_row) const {
    return seek_ && seek_->known > grid_.before(mcu_row, grid_.mcus_per_row);
  }
  // For a known row, without restart intervals: has `source` continue at the last point that is
  // not after MCU `column`, and sets `column` to that of the point. False if that is not ahead.
  bool seek_row(int mcu_row, int& column, ScanBytes& source, std::array<int, 3>& predictors) const;

  const Header& header_;
  ScanBytes source_;
  std::array<int, 3> predictors_ = {};  // DC of each component's previous block

 private:
  // Called before MCUs of a row are read, also for skipped rows.
  virtual void begin_row(int mcu_row) = 0;
  // Reads MCUs [begin, end) of the current row from source_, or fewer, like decode_jpeg_mcus().
  virtual int read_mcus(int begin, int end) = 0;

  bool restart();
  bool go_to(size_t point);
  void note();
  bool read_columns(int end);

  SeekPoints* const seek_;
  const SeekGrid grid_;
  int row_ = 0, column_ = 0;  // of the next MCU
  int to_restart_, restarts_ = 0;
};

// Calls read(points) with the points in `index` (may be null), if they are `useful`, and again
// without points if that fails. Stores new points. Returns the result of the last read().
bool read_with_index(Bytes bytes, const Header& header, bool useful, Index* index,
                     ScratchMemory& scratch, const std::function<bool(SeekPoints*)>& read);

}  // namespace torchdali::io::jpeg
