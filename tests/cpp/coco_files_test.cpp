// SPDX-License-Identifier: Apache-2.0
// Preprocessed annotations under sanitizers: files that were changed at random are an error, or can
// be used; and annotations with more crossings than pixels.
// sources: csrc/ops/readers/coco/annotations.cpp csrc/ops/readers/coco/parser.cpp
// sources: csrc/ops/readers/coco/resolve.cpp csrc/ops/readers/coco/save_preprocessed.cpp
// sources: csrc/ops/readers/coco/load_preprocessed.cpp csrc/io/json.cpp csrc/io/storage/*.cpp csrc/core/threads/*.cpp
// sources: csrc/kernels/masks/*.cpp
// sources: csrc/io/content_hash.cpp
// sanitizers: address
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/error.h"
#include "core/random.h"
#include "expect.h"
#include "kernels/masks/label_mask.h"
#include "ops/readers/coco/parser.h"
#include "ops/readers/coco/preprocessed.h"

namespace torchdali {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kText = R"({
  "images": [{"id": 4, "file_name": "b", "width": 6, "height": 5},
             {"id": 2, "file_name": "a", "width": 9, "height": 4}],
  "annotations": [
    {"image_id": 4, "category_id": 1, "bbox": [0, 0, 4, 4],
     "segmentation": [[0, 0, 4.5, 0, 4.5, 4.1], [1, 1, 5, 1, 5, 4, 1, 4]]},
    {"image_id": 2, "category_id": 2, "bbox": [1, 1, 3, 3],
     "segmentation": {"size": [4, 9], "counts": [10, 20, 6]}},
    {"image_id": 4, "category_id": 2, "bbox": [2, 2, 3, 3],
     "segmentation": {"size": [5, 6], "counts": [0, 30]}}],
  "categories": [{"id": 1}, {"id": 2}]})";

// Uses every value of the annotations; returns how many pixels have a label.
int64_t draw_all(const CocoAnnotations& annotations) {
  int64_t drawn = 0;
  for (const uint32_t image : annotations.samples) {
    EXPECT(!annotations.name(image).empty());
    const int64_t height = annotations.heights[image], width = annotations.widths[image];
    if (height * width > 1 << 16) continue;
    std::vector<int32_t> mask(static_cast<size_t>(height * width));
    MaskPainter painter({mask.data(), height, width});
    for (const uint32_t object : annotations.objects(image)) {
      const auto polygons = annotations.polygons(object);
      for (uint32_t i = polygons.begin; i < polygons.end; ++i)
        painter.paint_polygon(annotations.outline(i), 1);
      painter.paint_runs(annotations.runs(object), 1);
    }
    drawn += std::count(mask.begin(), mask.end(), 1);
  }
  return drawn;
}

void test_damaged_files(const fs::path& folder) {
  const std::string path = "text";
  const CocoOptions options{.polygons = true, .masks = true};
  const PreprocessedParts parts{.image_ids = true, .polygons = true, .masks = true};
  const CocoAnnotations sound = CocoParser(kText, path, options).parse();
  save_preprocessed(sound, folder.string(), parts);
  EXPECT(draw_all(load_preprocessed(folder.string(), parts)) == draw_all(sound));

  RandomStream random(3, 0);
  int errors = 0, used = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (int i = 0; i < 100; ++i) {
      std::string changed = bytes;
      if (i % 4 == 0) changed.resize(random.next_u32() % bytes.size());
      const uint32_t changes = i % 4 == 0 ? 0 : random.next_u32() % 3 + 1;
      constexpr std::string_view kCritical{"\x00\x01\x7f\x80\xff\n", 6};
      for (uint32_t j = 0; j < changes; ++j)
        changed[random.next_u32() % changed.size()] =
            kCritical[random.next_u32() % kCritical.size()];
      std::ofstream(entry.path(), std::ios::binary) << changed;
      try {
        draw_all(load_preprocessed(folder.string(), parts));
        ++used;
      } catch (const Error& error) {
        EXPECT(error.kind() == ErrorKind::kData);
        EXPECT(error.message().find(folder.string()) != std::string::npos);
        ++errors;
      }
    }
    std::ofstream(entry.path(), std::ios::binary) << bytes;
  }
  EXPECT(errors > 250);
  EXPECT(used > 25);
}

// The memory for crossings depends on the pixels, not on the vertices.
void test_more_crossings_than_pixels() {
  // An odd number of edges along the upper side, which cancel one another but for one.
  std::vector<int32_t> outline;
  for (int i = 0; i < 100'002; ++i) {
    outline.push_back(i % 2 == 0 ? -1 : 21);
    outline.push_back(0);
  }
  outline.insert(outline.end(), {21, 21, -1, 21});
  std::vector<int32_t> mask(4 * 4);
  MaskPainter({mask.data(), 4, 4}).paint_polygon(outline, 1);
  EXPECT(std::count(mask.begin(), mask.end(), 1) == 16);
}

}  // namespace
}  // namespace torchdali

int main() {
  const auto folder =
      torchdali::fs::temp_directory_path() / ("torchdali_coco_" + std::to_string(::getpid()));
  torchdali::fs::create_directories(folder);
  torchdali::test_damaged_files(folder);
  torchdali::test_more_crossings_than_pixels();
  torchdali::fs::remove_all(folder);
}
