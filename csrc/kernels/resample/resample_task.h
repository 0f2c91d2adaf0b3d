// SPDX-License-Identifier: Apache-2.0
// The task of a resampling on the GPU, which goes by boxes (box_resampling.h) or, for bytes with
// positive weights, by strips (strip_resampling.h).
#pragma once

#include "kernels/gpu/task.h"

namespace torchdali::gpu {

// One axis of a resampling: kernels::AxisTable in the blob.
struct ResampleAxisTable {
  int64_t out = 1;
  int taps = 1;
  BlobOffset start = 0, weights = 0;  // int32[out], float[out, taps]
  int64_t in_stride = 0;              // in elements
};

// Weights of columns are integers that add up to kStripOne, two in 32 bits; weights of rows are
// float / kStripOne. Rows are in the order of the source: `first_row`, `first_row + row_step`, ...
// of the result.
inline constexpr int kStripOne = 1 << 15;
inline constexpr int kStripWords = 2;  // of a row of the result that a thread makes
struct ResampleStrips {
  int64_t count = 0;     // of strips; 0: the task goes by boxes
  int64_t threads = 0;   // of a strip: whole warps, in which those after `columns` are idle
  int64_t columns = 0;   // each a pixel or, where `words` is not 0, kStripWords words
  int64_t words = 0;     // of a row
  int taps = 2;          // of a column; even
  bool spreads = false;  // whether steps are SpreadRow, of the rows of the source, or GatherRow
  int first_row = 0, row_step = 1;
  int first_source = 0;                // the row of the first step
  BlobOffset starts = 0, weights = 0;  // int32[columns], bytes; uint32[columns, taps / 2]
                                       // or StripWord[words] and nothing
  BlobOffset rows = 0, steps = 0;      // StripRows[count]; steps
};
struct alignas(16) StripWord {
  int32_t at = 0;              // the first of eight bytes of the source's row
  uint32_t selectors[2] = {};  // the two bytes of them that each byte is a sum of
  uint32_t weights[4] = {};
  uint32_t unused = 0;
};
struct alignas(16) StripRows {
  int32_t begin = 0, end = 0;  // steps
  // Where steps spread: the row of the result that the first step ends, and the strip's first row.
  int32_t made = 0, wanted = 0;
};
struct alignas(16) SpreadRow {
  float weights[2] = {};  // in the current row of the result, and in the next
  int32_t ends = 0;       // whether the current row is complete
  int32_t unused = 0;
};
// A row of the result is a sum of two rows of the source, one of even and one of odd number, so
// that neither moves when the next row replaces the other.
struct alignas(16) GatherRow {
  int32_t even = 0, odd = 0;
  float weights[2] = {};
};

// Weighted sums by the tables of three axes (D, H, W). The output is dense. `size` counts runs of
// up to kResampleRun pixels of a row or, with strips, their threads.
inline constexpr int kResampleRun = 4;
struct ResampleTask : TypedTask {
  ResampleAxisTable axes[3];
  int64_t channels = 1, outer_stride = 0;  // of the input, in elements
  ResampleStrips strips;
};

}  // namespace torchdali::gpu
