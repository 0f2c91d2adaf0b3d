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

void ScanReader::start_row(int mcu_row, int first, int last) {
  last_row_ = mcu_row;
  end_in_last_row_ = grid_.mcus_per_row;
  if (seek_) {
    const size_t point = std::min(grid_.before(mcu_row, first), seek_->known - 1);
    if (point > grid_.before(row_, column_) && !go_to(point)) broken_ = true;
    // The rest of the scan was valid when the points were made, so it is not read again.
    if (is_known(mcu_row)) end_in_last_row_ = last + 1;
  }
  begin_row(row_);
}

bool ScanReader::has_part() {
  while (!broken_) {
    if (column_ < end()) {
      const bool restarts = header_.restart_interval > 0 && to_restart_ == 0;
      broken_ = (restarts && !restart()) || !source_.prepare();
      return !broken_;
    }
    // Checks that all these bits exist before they become pixels.
    broken_ = !source_.prepare();
    if (broken_ || row_ == last_row_) return false;
    column_ = 0;
    begin_row(++row_);
  }
  return false;
}

int ScanReader::part_end() const {
  int stop = end();
  if (header_.restart_interval > 0) stop = std::min(stop, column_ + to_restart_);
  if (seek_) stop = std::min(stop, (column_ / SeekGrid::kColumns + 1) * SeekGrid::kColumns);
  return stop;
}

void ScanReader::read(int next) {
  if (header_.restart_interval > 0) to_restart_ -= next - column_;
  column_ = next;
  if (!seek_) return;
  broken_ = !source_.prepare();
  if (!broken_) note();
}

bool ScanReader::read_row(int mcu_row, int first, int last) {
  start_row(mcu_row, first, last);
  return read_parts();
}

bool ScanReader::read_parts() {
  while (has_part()) {
    const int next = read_mcus(column_, part_end());
    if (next < 0) return false;
    read(next);
  }
  return !broken_;
}

IndexedPoints::IndexedPoints(Bytes bytes, const Header& header, bool useful, Index* index,
                             ScratchMemory& scratch) {
  if (!index || !useful || header.scan.size() > kMaxSeekableScan) return;
  index_ = index;
  const size_t room = SeekGrid(header).size();
  seek_.points = {static_cast<SeekPoint*>(scratch.allocate(room * sizeof(SeekPoint))), room};
  key_ = Index::key(bytes);
  index->find(key_, seek_);
  found_ = seek_.known;
  if (found_ == 0) seek_.points[seek_.known++] = {};
}

void IndexedPoints::store() {
  if (index_ && seek_.known > std::max<size_t>(found_, 1)) index_->store(key_, seek_);
}

bool read_with_index(Bytes bytes, const Header& header, bool useful, Index* index,
                     ScratchMemory& scratch, const std::function<bool(SeekPoints*)>& read) {
  IndexedPoints points(bytes, header, useful, index, scratch);
  if (read(points.points())) {
    points.store();
    return true;
  }
  // The points or the file are invalid; reading without points tells which.
  return points.found() && read(nullptr);
}

}  // namespace torchdali::io::jpeg
