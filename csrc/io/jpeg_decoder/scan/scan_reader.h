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
  // The same in steps: after start_row(), MCUs [column(), part_end()) of row() are next as long as
  // has_part(). read(n) says that MCUs before n have been read from source_. is_broken() at the
  // end, or sooner.
  void start_row(int mcu_row, int first, int last);
  bool has_part();
  void read(int next);
  bool is_broken() const { return broken_; }
  int row() const { return row_; }
  int column() const { return column_; }
  int part_end() const;
  // Reads all parts.
  bool read_parts();
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
  // The last MCU of the current row that is read, plus 1.
  int end() const { return row_ == last_row_ ? end_in_last_row_ : grid_.mcus_per_row; }

  SeekPoints* const seek_;
  const SeekGrid grid_;
  int row_ = 0, column_ = 0;  // of the next MCU
  int last_row_ = 0, end_in_last_row_ = 0;
  bool broken_ = false;
  int to_restart_, restarts_ = 0;
};

// The points of one image that an index knows, and those that reading its scan adds.
class IndexedPoints {
 public:
  // There are none if `index` is null or they are not `useful`.
  IndexedPoints(Bytes bytes, const Header& header, bool useful, Index* index,
                ScratchMemory& scratch);
  // For ScanReader; null if there are none.
  SeekPoints* points() { return index_ ? &seek_ : nullptr; }
  // Whether the index had any, which may be invalid.
  bool found() const { return found_ > 0; }
  // Called when the scan was read without an error.
  void store();

 private:
  Index* index_ = nullptr;
  uint64_t key_ = 0;
  SeekPoints seek_;
  size_t found_ = 0;
};

// Calls read(points) with the points in `index`, and again without points if that fails. Stores new
// points. Returns the result of the last read().
bool read_with_index(Bytes bytes, const Header& header, bool useful, Index* index,
                     ScratchMemory& scratch, const std::function<bool(SeekPoints*)>& read);

}  // namespace torchdali::io::jpeg
