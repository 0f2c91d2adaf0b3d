// SPDX-License-Identifier: Apache-2.0
// Masks of objects, as polygons or run lengths, drawn into an image of labels. The pixels of an
// object are those of pycocotools (the COCO mask API), bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace torchdali {

// One label for each pixel, row by row.
struct LabelMask {
  int32_t* data = nullptr;
  int64_t height = 0, width = 0;  // at least 1; at most kMaxMaskPixels together
};
constexpr int64_t kMaxMaskPixels = int64_t{1} << 30;

// Polygons are drawn on a grid of five steps to a pixel. The coordinate on the grid that is nearest
// to `x` pixels, halves away from zero except that (-0.3, -0.1] also becomes 0.
int32_t mask_grid(double x);
constexpr double kMaxMaskCoordinate = 1 << 20;  // of |x|

// Draws polygons and runs, one after the other; a later one replaces the labels of earlier ones.
class MaskPainter {
 public:
  explicit MaskPainter(const LabelMask& mask) : mask_(mask) {}
  // Pixels that the outline surrounds an odd number of times. `outline`: x and y of each vertex, on
  // the grid; the last vertex is connected with the first one.
  void paint_polygon(std::span<const int32_t> outline, int32_t label);
  // Runs of pixels outside and inside, by turns, column by column; together height * width.
  void paint_runs(std::span<const uint32_t> counts, int32_t label);

 private:
  struct Point {
    int64_t x, y;
  };
  void cross_columns(Point from, Point to);
  void add_crossing(int64_t column, int64_t y);
  void cancel_pairs();
  void paint(int64_t begin, int64_t end, int32_t label);

  LabelMask mask_;
  // Where the inside begins or ends: pixels, numbered column by column.
  std::vector<int64_t> crossings_;
};

// Appends the run lengths that a string of COCO's compressed form stands for. Returns false, with
// some of them appended, if it stands for none.
bool decode_run_lengths(std::string_view text, std::vector<uint32_t>& to);

}  // namespace torchdali
