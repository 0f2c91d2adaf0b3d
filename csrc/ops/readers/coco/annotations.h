// SPDX-License-Identifier: Apache-2.0
// CocoAnnotations: the images of a data set in COCO's format and their objects, from the JSON file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace torchdali {

struct CocoOptions {
  bool ltrb = false;
  bool ratio = false;
  bool skip_empty = false;
  bool include_iscrowd = true;
  bool avoid_class_remapping = false;
  bool polygons = false;  // keep polygons
  bool masks = false;     // keep what pixelwise masks are drawn from
  float size_threshold = 0;
  std::vector<std::string> images = {};  // empty: all
};

// A few flat arrays, so that millions of objects take little memory. Constant once it was read.
struct CocoAnnotations {
  using Box = std::array<float, 4>;
  using Vertex = std::array<float, 2>;
  struct Range {
    uint32_t begin, end;
    uint32_t size() const { return end - begin; }
  };

  int64_t size() const { return static_cast<int64_t>(samples.size()); }
  uint32_t image(int64_t sample) const { return samples[static_cast<size_t>(sample)]; }
  // The name of an image, relative to the folder of the data set, or absolute.
  std::string_view name(uint32_t image) const;
  // The objects of an image, as indices of `boxes` and `labels`.
  std::span<const uint32_t> objects(uint32_t image) const;
  // The polygons of an object, and the vertices of a polygon.
  Range polygons(uint32_t object) const { return range(polygon_begins, object); }
  Range vertices(uint32_t polygon) const { return range(vertex_begins, polygon); }
  // The outline of a polygon for MaskPainter.
  std::span<const int32_t> outline(uint32_t polygon) const;
  // The run lengths of an object; empty if it has none.
  std::span<const uint32_t> runs(uint32_t object) const;

  void add_name(std::string_view name);
  // `path`: the file or folder that they come from, for the error.
  void check_mask_sizes(const std::string& path) const;

  std::vector<uint32_t> samples;  // the image of each
  // Of images, in the order of the file.
  std::string names;
  std::vector<uint64_t> name_begins = {0};
  std::vector<int64_t> image_ids;
  std::vector<int32_t> widths, heights;  // 0: not given
  std::vector<uint32_t> object_begins;   // in `object_order`
  std::vector<uint32_t> object_order;
  // Of objects, in the order of the file.
  std::vector<Box> boxes;
  std::vector<int32_t> labels;
  std::vector<uint32_t> polygon_begins = {0}, run_begins = {0};
  // Of polygons, object by object, and of vertices, polygon by polygon.
  std::vector<uint32_t> vertex_begins = {0};
  std::vector<Vertex> vertex_list;  // if polygons are kept
  std::vector<int32_t> grid;        // if masks are: x and y of each vertex, see label_mask.h
  std::vector<uint32_t> run_list;   // the same

 private:
  static Range range(const std::vector<uint32_t>& begins, uint32_t i) {
    return {begins[i], begins[i + 1]};
  }
};

// Reads a path or a URL. Raises kData, with the path and the place or the ids, if it is not JSON or
// not COCO's format. Fields that are not used are not checked.
CocoAnnotations read_coco_file(const std::string& path, const CocoOptions& options);

}  // namespace torchdali
