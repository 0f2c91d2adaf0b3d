// SPDX-License-Identifier: Apache-2.0
// Undoes the filters of rows of PNG (ISO/IEC 15948, clause 9).
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchdali::kernels {

enum class PngFilter : uint8_t { kNone, kSub, kUp, kAverage, kPaeth };
inline constexpr int kPngFilters = 5;

// One row, without the byte that names its filter.
struct PngRow {
  PngFilter filter;
  const uint8_t* from;
  uint8_t* to;
};

// The most rows that are worth handing over at once.
inline constexpr int kPngRowsAtOnce = 8;
// So many bytes after a row may be read, not written.
inline constexpr size_t kPngRowSlack = 16;

// Undoes the filters of `count` rows of `size` bytes, a multiple of `pixel_bytes` (1, 2, 3, 4, 6 or
// 8). `above` is the row before the first, without a filter, and no slack; the output of a row is
// above the next. No two rows overlap.
void unfilter_png(const PngRow* rows, int count, const uint8_t* above, size_t size,
                  int pixel_bytes);

}  // namespace torchdali::kernels
