// SPDX-License-Identifier: Apache-2.0
// CocoParser: from the text of a file in COCO's format to CocoAnnotations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json.h"
#include "ops/readers/coco/annotations.h"

namespace torchdali {

// Used once. The sections of the file may be in any order, so ids are resolved after parsing.
class CocoParser {
 public:
  CocoParser(std::string_view text, const std::string& path, const CocoOptions& options)
      : json_(text, path), path_(path), options_(options) {}
  CocoAnnotations parse();

 private:
  using Box = CocoAnnotations::Box;
  struct Object {
    std::optional<int64_t> id, image_id, category_id;
    std::optional<Box> box;
    bool crowd = false;
  };
  // Of an object with run lengths.
  struct RunSize {
    uint32_t object;
    int64_t height, width;
  };

  void image();
  void category();
  void object();
  void members(Object& object, size_t polygons);
  Box box();
  void segmentation();
  void polygon();
  void runs();
  void drop_segmentation(size_t polygons);
  void add(int64_t id, int64_t image_id, int64_t category_id, const Box& box);
  uint32_t checked_size(size_t size) const;

  void resolve_images();
  void resolve_categories();
  void check_runs() const;
  void sort_objects();
  void choose_samples();
  void convert_boxes();
  uint32_t find_name(const std::string& name) const;
  std::string object_name(size_t object) const;

  io::JsonReader json_;
  const std::string& path_;
  const CocoOptions& options_;
  CocoAnnotations out_;
  std::vector<std::pair<int64_t, uint32_t>> images_by_id_;
  std::vector<std::pair<int64_t, int32_t>> labels_by_category_;
  // Of objects.
  std::vector<int64_t> ids_;  // -1: none
  std::vector<int64_t> image_ids_;
  std::vector<uint32_t> images_;
  std::vector<RunSize> run_sizes_;
  int64_t objects_seen_ = 0;
};

}  // namespace torchdali
