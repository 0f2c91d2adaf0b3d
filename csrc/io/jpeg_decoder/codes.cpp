// SPDX-License-Identifier: Apache-2.0
// Finds the segments of a scan that a region needs. Reads no codes.
#include <algorithm>

#include "io/jpeg_codes.h"
#include "io/jpeg_decoder/header.h"
#include "io/jpeg_decoder/picture.h"
#include "io/jpeg_decoder/scan/scan_reader.h"

namespace torchdali::io {
namespace jpeg {
namespace {

template <class T>
std::span<T> allocate(ScratchMemory& scratch, size_t count) {
  return {static_cast<T*>(scratch.allocate(count * sizeof(T))), count};
}

// Components of most files share tables.
class Tables {
 public:
  explicit Tables(ScratchMemory& scratch)
      : made_(allocate<kernels::JpegCodeTable>(scratch, size_t{2} * 3)) {}
  // Returns false if that is no table.
  bool add(Bytes counts_and_symbols, bool dc, uint8_t& number) {
    for (number = 0; number < size_; ++number)
      if (from_[number].data() == counts_and_symbols.data()) return true;
    if (!kernels::make_jpeg_code_table(counts_and_symbols.first<16>(),
                                       counts_and_symbols.subspan(16), dc, made_[size_]))
      return false;
    from_[size_++] = counts_and_symbols;
    return true;
  }
  std::span<const kernels::JpegCodeTable> all() const { return made_.first(size_); }

 private:
  std::span<kernels::JpegCodeTable> made_;
  std::array<Bytes, 6> from_;
  uint8_t size_ = 0;
};

bool find_tables(const Header& header, ScratchMemory& scratch, JpegCodes& codes) {
  Tables tables(scratch);
  codes.blocks = 0;
  for (size_t c = 0; c < static_cast<size_t>(header.components); ++c) {
    const Component& component = header.component[c];
    if (!tables.add(header.dc[component.dc], true, codes.dc[c]) ||
        !tables.add(header.ac[component.ac], false, codes.ac[c]))
      return false;
    for (int i = 0; i < component.h * component.v; ++i)
      codes.component[static_cast<size_t>(codes.blocks++)] = static_cast<uint8_t>(c);
  }
  codes.tables = tables.all();
  return true;
}

// Of one row of MCUs: from the first bit of its first segment to the last one of its last segment.
// Points may be forged; they must only be within the scan and in order, so that no more bytes are
// copied than the scan has.
bool find_row(Bytes scan, std::span<const SeekPoint> points, uint32_t least, Bytes& piece) {
  const uint32_t begin = points.front().bits(), end = points.back().bits();
  if (begin < least || (end >> 3) > scan.size()) return false;
  for (size_t i = 1; i < points.size(); ++i)
    if (points[i].bits() < points[i - 1].bits()) return false;
  // With the byte of the last bit and, if that is 0xFF, what follows it.
  const size_t first = begin >> 3, last = std::min<size_t>((end >> 3) + 2, scan.size());
  piece = scan.subspan(first, last - first);
  return true;
}

bool find_segments(const Header& header, const SeekPoints& known, const PackedJpeg& packed,
                   ScratchMemory& scratch, JpegCodes& codes) {
  const SeekGrid grid(header);
  const auto top = static_cast<int>(packed.mcu_y), left = static_cast<int>(packed.mcu_x);
  const int right = left + packed.mcus_across - 1;
  const auto across =
      static_cast<size_t>(right / SeekGrid::kColumns - left / SeekGrid::kColumns) + 1;
  const auto down = static_cast<size_t>(packed.mcus_down);
  // As without points, an error to the right of the region is one of the region.
  if (grid.before(top + packed.mcus_down - 1, grid.mcus_per_row) >= known.known) return false;
  codes.mcus_per_row = grid.mcus_per_row;
  codes.restart_interval = header.restart_interval;
  codes.segments_across = static_cast<int>(across);
  codes.segment_mcus = SeekGrid::kColumns;
  codes.first_column = left / SeekGrid::kColumns * SeekGrid::kColumns;

  const auto pieces = allocate<Bytes>(scratch, down);
  const auto segments = allocate<kernels::JpegSegment>(scratch, across * down);
  size_t bytes = 0;  // of the pieces so far
  uint32_t least = 0;
  kernels::JpegSegment* to = segments.data();
  for (size_t row = 0; row < down; ++row) {
    const auto points =
        known.points.subspan(grid.before(top + static_cast<int>(row), left), across + 1);
    Bytes& piece = pieces[row];
    if (!find_row(header.scan, points, least, piece)) return false;
    least = points.back().bits();
    const size_t moved = bytes - (points.front().bits() >> 3);  // modulo 2^64
    for (const SeekPoint& point : points.first(across)) {
      const auto bits = static_cast<uint32_t>(point.bits() + 8 * moved);
      to->position[0] = static_cast<uint16_t>(bits);
      to->position[1] = static_cast<uint16_t>(bits >> 16);
      std::ranges::copy(point.dc, to->dc);
      ++to;
    }
    bytes += piece.size();
  }
  codes.pieces = pieces;
  codes.segments = segments;
  // Two bytes of a row may also be in the next one.
  return bytes <= kMaxSeekableScan;
}

}  // namespace
}  // namespace jpeg

bool find_jpeg_codes(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                     ScratchMemory& scratch, PackedJpeg& packed, JpegCodes& codes) {
  jpeg::Header header;
  if (options.jpeg_index == nullptr ||
      !jpeg::read_picture(bytes, info, options, scratch, packed, header))
    return false;
  jpeg::describe_mcus(header, packed);
  jpeg::IndexedPoints points(bytes, header, true, options.jpeg_index, scratch);
  return points.found() && jpeg::find_segments(header, *points.points(), packed, scratch, codes) &&
         jpeg::find_tables(header, scratch, codes);
}

}  // namespace torchdali::io
