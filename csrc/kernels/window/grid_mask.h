// SPDX-License-Identifier: Apache-2.0
// The mask of fn.grid_mask, row by row.
#pragma once

#include <cmath>
#include <cstdint>

namespace torchdali::kernels {

// A row of the grid, in units of its tiles: pixel i is at (x + i * dx, y + i * dy), and is masked
// if the fractions of both are below `ratio`.
struct GridRow {
  float x, dx, y, dy, ratio;
};
// Whether pixel `i` is not masked: 1 or 0.
constexpr int grid_keeps(const GridRow& g, int32_t i) {
  const auto at = static_cast<float>(i);
  const float x = g.x + at * g.dx, y = g.y + at * g.dy;
  // NaN is masked, as in DALI.
  const int keep_x = x - std::floor(x) >= g.ratio, keep_y = y - std::floor(y) >= g.ratio;
  return keep_x | keep_y;
}
// Row `h` of a grid whose upper left corner is at (left, top). This order of operations results in
// DALI's masks.
constexpr GridRow grid_row_at(int64_t h, float left, float top, float cosine, float sine,
                              float ratio) {
  const auto y = static_cast<float>(h);
  return {.x = left - y * sine, .dx = cosine, .y = top + y * cosine, .dy = sine, .ratio = ratio};
}
// mask[i] = 0 where pixel i is masked, else 255.
void grid_row(uint8_t* mask, int64_t width, const GridRow& row);
// Copies pixels of `pixel` bytes each; masked ones become 0.
void apply_mask(uint8_t* out, const uint8_t* in, const uint8_t* mask, int64_t width, int64_t pixel);

}  // namespace torchdali::kernels
