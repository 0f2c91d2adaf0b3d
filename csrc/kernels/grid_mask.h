// SPDX-License-Identifier: Apache-2.0
// The mask of fn.grid_mask, row by row.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// A row of the grid, in units of its tiles: pixel i lies at (x + i * dx, y + i * dy), and is masked
// where the fractions of both are below `ratio`.
struct GridRow {
  float x, dx, y, dy, ratio;
};
// mask[i] = 0 where pixel i is masked, else 255.
void grid_row(uint8_t* mask, int64_t width, const GridRow& row);
// Copies pixels of `pixel` bytes each; masked ones become 0.
void apply_mask(uint8_t* out, const uint8_t* in, const uint8_t* mask, int64_t width, int64_t pixel);

}  // namespace torchdali::kernels
