// SPDX-License-Identifier: Apache-2.0
// Points of a scan where decoding can begin: the state of the decoder of codes before an MCU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "io/jpeg_decoder/header.h"

namespace torchdali::io::jpeg {

// Ten bytes. The number of bits of the scan before the MCU's first code, stuffing included (after
// the last MCU: before the end), and the DC coefficients that the next ones are coded relative to.
struct SeekPoint {
  std::array<uint16_t, 2> position{};
  std::array<int16_t, 3> dc{};
  uint32_t bits() const { return position[0] | static_cast<uint32_t>(position[1]) << 16; }
};
static_assert(sizeof(SeekPoint) == 10 && alignof(SeekPoint) == 2);

// Longer scans have no points: their positions need more bits.
inline constexpr size_t kMaxSeekableScan = std::numeric_limits<uint32_t>::max() / 8;

// Points are before every kColumns-th MCU of each row, and after the last one.
struct SeekGrid {
  // Measured: docs/design/jpeg_index.md.
  static constexpr int kColumns = 16;

  explicit SeekGrid(const Header& header)
      : mcus_per_row(divide_up(header.width, 8 * header.max_h)),
        per_row(divide_up(mcus_per_row, kColumns)),
        rows(divide_up(header.height, 8 * header.max_v)) {}
  size_t size() const { return static_cast<size_t>(per_row) * static_cast<size_t>(rows) + 1; }
  // The last point that is not after MCU `column` of `row`; column == mcus_per_row: the next row's.
  size_t before(int row, int column) const {
    return static_cast<size_t>(row) * static_cast<size_t>(per_row) +
           static_cast<size_t>(column == mcus_per_row ? per_row : column / kColumns);
  }
  int row_of(size_t point) const { return static_cast<int>(point / static_cast<size_t>(per_row)); }
  int column_of(size_t point) const {
    return static_cast<int>(point % static_cast<size_t>(per_row)) * kColumns;
  }

  int mcus_per_row, per_row, rows;
};

// The known points of one image, from the first on; `points` has room for all. The codes before a
// known point were valid.
struct SeekPoints {
  std::span<SeekPoint> points;
  size_t known = 0;
};

}  // namespace torchdali::io::jpeg
