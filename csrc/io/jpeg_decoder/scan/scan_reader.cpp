// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/scan/scan_reader.h"

#include <algorithm>

namespace torchdali::io::jpeg {

ScanReader::ScanReader(const Header& header, ScratchMemory& scratch, SeekPoints* seek)
    : header_(header),
      source_(header.scan, scratch),
      seek_(seek),
      grid_(header),
      to_restart_(header.restart_interval) {
  if (seek_) source_.follow();
}

bool ScanReader::restart() {
  if (!source_.restart(restarts_++ % 8)) return false;
  predictors_ = {};
  to_restart_ = header_.restart_interval;
  return true;
}

// Goes to a known point, but never back: points may be forged, and if no bits are read twice, the
// work is bounded by the size of the file.
bool ScanReader::go_to(size_t point) {
  const SeekPoint& to = seek_->points[point];
  if (to.bits() < source_.position()) return false;
  row_ = grid_.row_of(point);
  column_ = grid_.column_of(point);
  std::copy(to.dc.begin(), to.dc.end(), predictors_.begin());
  if (const int interval = header_.restart_interval) {
    // An interval follows a marker, except for the first one.
    const int64_t before = int64_t{row_} * grid_.mcus_per_row + column_;
    const int64_t begun = before == 0 ? 0 : (before - 1) / interval;
    to_restart_ = static_cast<int>(interval - (before - begun * interval));
    restarts_ = static_cast<int>(begun % 8);
  }
  return source_.seek(to.bits());
}

bool ScanReader::seek_row(int mcu_row, int& column, ScanBytes& source,
                          std::array<int, 3>& predictors) const {
  const size_t point = grid_.before(mcu_row, column);
  const SeekPoint& to = seek_->points[point];
  if (to.bits() < source.position()) return false;
  column = grid_.column_of(point);
  std::copy(to.dc.begin(), to.dc.end(), predictors.begin());
  return source.seek(to.bits());
}

// Adds the current position, if it is the next unknown point. The bits before it exist.
void ScanReader::note() {
  const bool on_grid = column_ % SeekGrid::kColumns == 0 || column_ == grid_.mcus_per_row;
  if (!on_grid || grid_.before(row_, column_) != seek_->known) return;
  const auto bits = static_cast<uint32_t>(source_.position());
  SeekPoint& point = seek_->points[seek_->known++];
  point.position = {static_cast<uint16_t>(bits), static_cast<uint16_t>(bits >> 16)};
  std::copy(predictors_.begin(), predictors_.end(), point.dc.begin());
}

// Reads the codes of the current row of MCUs, up to column `end`.
bool ScanReader::read_columns(int end) {
  begin_row(row_);
  const bool restarts = header_.restart_interval > 0;
  while (column_ < end) {
    if (restarts && to_restart_ == 0 && !restart()) return false;
    if (!source_.prepare()) return false;
    int stop = restarts ? std::min(end, column_ + to_restart_) : end;
    if (seek_) stop = std::min(stop, (column_ / SeekGrid::kColumns + 1) * SeekGrid::kColumns);
    const int next = read_mcus(column_, stop);
    if (next < 0) return false;
    to_restart_ -= restarts ? next - column_ : 0;
    column_ = next;
    if (!seek_) continue;
    if (!source_.prepare()) return false;
    note();
  }
  // Checks that all these bits exist before they become pixels.
  return source_.prepare();
}

bool ScanReader::read_row(int mcu_row, int first, int last) {
  int end = grid_.mcus_per_row;
  if (seek_) {
    const size_t point = std::min(grid_.before(mcu_row, first), seek_->known - 1);
    if (point > grid_.before(row_, column_) && !go_to(point)) return false;
    // The rest of the scan was valid when the points were made, so it is not read again.
    if (is_known(mcu_row)) end = last + 1;
  }
  for (;;) {
    if (!read_columns(row_ == mcu_row ? end : grid_.mcus_per_row)) return false;
    if (row_ == mcu_row) return true;
    ++row_;
    column_ = 0;
  }
}

bool read_with_index(Bytes bytes, const Header& header, bool useful, Index* index,
                     ScratchMemory& scratch, const std::function<bool(SeekPoints*)>& read) {
  if (index && useful && header.scan.size() <= kMaxSeekableScan) {
    const size_t room = SeekGrid(header).size();
    auto* points = static_cast<SeekPoint*>(scratch.allocate(room * sizeof(SeekPoint)));
    SeekPoints seek{.points = {points, room}};
    const uint64_t key = Index::key(bytes);
    index->find(key, seek);
    const size_t found = seek.known;
    if (found == 0) seek.points[seek.known++] = {};
    if (read(&seek)) {
      if (seek.known > std::max<size_t>(found, 1)) index->store(key, seek);
      return true;
    }
    // The points or the file are invalid; reading without points tells which.
    if (found == 0) return false;
  }
  return read(nullptr);
}

}  // namespace torchdali::io::jpeg
