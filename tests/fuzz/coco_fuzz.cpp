// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, as a file in COCO's format, whose objects are all drawn. The first byte
// chooses the options. In small images, polygons are compared with the rule written plainly.
// sources: csrc/ops/readers/coco/annotations.cpp csrc/ops/readers/coco/parser.cpp
// sources: csrc/ops/readers/coco/resolve.cpp csrc/io/json.cpp
// sources: csrc/kernels/masks/*.cpp
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "../cpp/expect.h"
#include "core/error.h"
#include "kernels/masks/label_mask.h"
#include "ops/readers/coco/parser.h"

namespace torchdali {
namespace {

// Larger pictures and longer edges only make the fuzzer slow.
constexpr int64_t kMaxPixels = 1 << 12;
constexpr int64_t kMaxWalk = 1 << 14;

struct GridPoint {
  int64_t x, y;
};

// Every point of the outline, edge by edge; empty if there are too many.
std::vector<GridPoint> walk(std::span<const int32_t> outline) {
  std::vector<GridPoint> points;
  const size_t count = outline.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    const size_t j = (i + 1) % count;
    const int64_t x0 = outline[2 * i], y0 = outline[2 * i + 1];
    const int64_t dx = outline[2 * j] - x0, dy = outline[2 * j + 1] - y0;
    const int64_t steps = std::max(std::abs(dx), std::abs(dy));
    if (static_cast<int64_t>(points.size()) + steps > kMaxWalk) return {};
    // Always drawn in the direction of the longer axis.
    const bool flat = std::abs(dx) >= std::abs(dy), back = flat ? dx < 0 : dy < 0;
    const double slope =
        steps == 0 ? 0.0
                   : static_cast<double>(flat ? dy : dx) / static_cast<double>(flat ? dx : dy);
    for (int64_t step = 0; step <= steps; ++step) {
      const int64_t t = back ? steps - step : step;
      const auto start = static_cast<double>(flat ? (back ? y0 + dy : y0) : (back ? x0 + dx : x0));
      const auto other = static_cast<int64_t>(start + slope * static_cast<double>(t) + 0.5);
      if (flat) points.push_back({(back ? x0 + dx : x0) + t, other});
      else points.push_back({other, (back ? y0 + dy : y0) + t});
    }
  }
  return points;
}

// The parity of the crossings before each pixel, column by column.
std::vector<int32_t> plain_mask(const std::vector<GridPoint>& points, int64_t height,
                                int64_t width) {
  std::vector<int32_t> toggles(static_cast<size_t>(height * width) + 1),
      mask(static_cast<size_t>(height * width));
  for (size_t i = 1; i < points.size(); ++i) {
    const GridPoint a = points[i - 1], b = points[i];
    if (a.x == b.x) continue;
    const double column = (static_cast<double>(std::min(a.x, b.x)) + 0.5) / 5 - 0.5;
    if (std::floor(column) != column || column < 0 || column > static_cast<double>(width - 1))
      continue;
    const double row = (static_cast<double>(std::min(a.y, b.y)) + 0.5) / 5 - 0.5;
    const auto y =
        static_cast<int64_t>(std::ceil(std::clamp(row, 0.0, static_cast<double>(height))));
    toggles[static_cast<size_t>(static_cast<int64_t>(column) * height + y)] ^= 1;
  }
  int32_t inside = 0;
  for (int64_t i = 0; i < height * width; ++i) {
    inside ^= toggles[static_cast<size_t>(i)];
    mask[static_cast<size_t>(i % height * width + i / height)] = inside;
  }
  return mask;
}

void draw(const CocoAnnotations& annotations, uint32_t image) {
  const int64_t height = annotations.heights[image], width = annotations.widths[image];
  if (height > kMaxPixels / width) return;
  std::vector<int32_t> mask(static_cast<size_t>(height * width));
  MaskPainter painter({mask.data(), height, width});
  for (const uint32_t object : annotations.objects(image)) {
    const auto polygons = annotations.polygons(object);
    for (uint32_t i = polygons.begin; i < polygons.end; ++i) {
      const auto outline = annotations.outline(i);
      std::fill(mask.begin(), mask.end(), 0);
      painter.paint_polygon(outline, 1);
      if (const auto points = walk(outline); !points.empty())
        EXPECT(mask == plain_mask(points, height, width));
    }
    const auto runs = annotations.runs(object);
    std::fill(mask.begin(), mask.end(), 0);
    painter.paint_runs(runs, 1);
    int64_t inside = 0;
    for (size_t i = 1; i < runs.size(); i += 2) inside += runs[i];
    EXPECT(std::count(mask.begin(), mask.end(), 1) == inside);
  }
}

}  // namespace
}  // namespace torchdali

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchdali;  // NOLINT
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto option = [data](int bit) { return (data[0] >> bit & 1) != 0; };
  CocoOptions options{.ltrb = option(0),
                      .ratio = option(1),
                      .skip_empty = option(2),
                      .include_iscrowd = option(3),
                      .avoid_class_remapping = option(4),
                      .polygons = option(5),
                      .masks = option(6)};
  if (option(7)) options.images = {"a", "b"};
  const std::string path = "fuzz";
  try {
    const CocoAnnotations annotations = CocoParser(text, path, options).parse();
    for (const uint32_t image : annotations.samples) {
      EXPECT(!annotations.name(image).empty());
      if (options.masks) draw(annotations, image);
    }
  } catch (const Error& error) {
    EXPECT(error.kind() == ErrorKind::kData);
    EXPECT(error.message().starts_with("\"fuzz\""));
  }
  return 0;
}
