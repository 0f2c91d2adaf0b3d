// SPDX-License-Identifier: Apache-2.0
// The fields that are read, and what they mean, are those of https://cocodataset.org/#format-data.
#include "ops/readers/coco/parser.h"

#include <cmath>
#include <limits>

#include "kernels/masks/label_mask.h"

namespace torchdali {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

template <class... Parts>
void append(std::string& to, const Parts&... parts) {
  to += str_cat(parts...);
}

}  // namespace

CocoAnnotations CocoParser::parse() {
  bool images = false, annotations = false, categories = false;
  const auto section = [this](bool& seen, const char* name, auto&& read) {
    if (std::exchange(seen, true)) json_.fail("`", name, "` is in the file twice");
    json_.array(read);
  };
  json_.object([&](std::string_view key) {
    if (key == "images") section(images, "images", [this] { image(); });
    else if (key == "annotations") section(annotations, "annotations", [this] { object(); });
    else if (key == "categories") section(categories, "categories", [this] { category(); });
    else json_.skip();
  });
  json_.end();
  if (!images) json_.fail("the file has no `images`");
  resolve_images();
  if (!options_.avoid_class_remapping) resolve_categories();
  check_runs();
  sort_objects();
  choose_samples();
  if (options_.masks) out_.check_mask_sizes(path_);
  convert_boxes();
  // Their capacity can be twice their size.
  out_.vertex_list.shrink_to_fit();
  out_.grid.shrink_to_fit();
  out_.run_list.shrink_to_fit();
  return std::move(out_);
}

void CocoParser::image() {
  std::optional<int64_t> id;
  std::optional<std::string> name;
  int32_t width = 0, height = 0;
  const auto extent = [this] {
    const int64_t value = json_.integer();
    if (value < 0 || value > kMaxInt32)
      json_.fail("the width or height of an image is ", value, ", expected 1 to ", kMaxInt32);
    return static_cast<int32_t>(value);
  };
  json_.object([&](std::string_view key) {
    if (key == "id") id = json_.integer();
    else if (key == "file_name") name = json_.string();
    else if (key == "width") width = extent();
    else if (key == "height") height = extent();
    else json_.skip();
  });
  if (!id) json_.fail("the image has no `id`");
  if (!name) json_.fail("image ", *id, " has no `file_name`");
  if (name->empty() || name->find('\0') != std::string::npos)
    json_.fail("the `file_name` of image ", *id, " is empty or has a zero byte");
  (void)checked_size(out_.image_ids.size() + 1);
  out_.add_name(*name);
  out_.image_ids.push_back(*id);
  out_.widths.push_back(width);
  out_.heights.push_back(height);
}

void CocoParser::category() {
  std::optional<int64_t> id;
  json_.object([&](std::string_view key) {
    if (key == "id") id = json_.integer();
    else json_.skip();
  });
  if (!id) json_.fail("the category has no `id`");
  labels_by_category_.emplace_back(*id, static_cast<int32_t>(labels_by_category_.size()) + 1);
}

void CocoParser::object() {
  Object object;
  const size_t polygons = out_.vertex_begins.size() - 1;
  ++objects_seen_;
  try {
    members(object, polygons);
    if (!object.image_id) json_.fail("the annotation has no `image_id`");
    if (!object.category_id) json_.fail("the annotation has no `category_id`");
    if (!object.box) json_.fail("the annotation has no `bbox`");
  } catch (Error& error) {
    std::string message = error.message();
    append(message, " (element ", objects_seen_ - 1, " of `annotations`");
    if (object.id) append(message, ", id ", *object.id);
    if (object.image_id) append(message, ", image ", *object.image_id);
    error.set_message(message + ')');
    throw;
  }
  const Box& box = *object.box;
  const bool dropped = (object.crowd && !options_.include_iscrowd) ||
                       box[2] < options_.size_threshold || box[3] < options_.size_threshold;
  if (dropped) drop_segmentation(polygons);
  else add(object.id.value_or(-1), *object.image_id, *object.category_id, box);
}

// Where a key occurs twice, the last one counts, as in pycocotools.
void CocoParser::members(Object& object, size_t polygons) {
  const bool segmented = options_.polygons || options_.masks;
  json_.object([&](std::string_view key) {
    if (key == "image_id") {
      object.image_id = json_.integer();
    } else if (key == "category_id") {
      object.category_id = json_.integer();
      if (*object.category_id < -kMaxInt32 || *object.category_id > kMaxInt32)
        json_.fail("`category_id` is ", *object.category_id, ", expected at most ", kMaxInt32);
    } else if (key == "bbox") {
      object.box = box();
    } else if (key == "iscrowd") {
      object.crowd = json_.peek() == io::JsonKind::kBool ? json_.boolean() : json_.integer() != 0;
    } else if (key == "segmentation" && segmented) {
      drop_segmentation(polygons);
      segmentation();
    } else if (key == "id" && json_.peek() == io::JsonKind::kNumber) {
      object.id = json_.integer();
    } else {
      json_.skip();
    }
  });
}

CocoParser::Box CocoParser::box() {
  Box box;
  size_t count = 0;
  json_.array([&] {
    const auto value = static_cast<float>(json_.number());
    if (!std::isfinite(value)) json_.fail("`bbox` has a number that is too large for float32");
    if (count < box.size()) box[count] = value;
    ++count;
  });
  if (count != box.size())
    json_.fail("`bbox` has ", count, " numbers, expected 4: x, y, width and height");
  return box;
}

void CocoParser::segmentation() {
  switch (json_.peek()) {
    case io::JsonKind::kArray: json_.array([this] { polygon(); }); break;
    case io::JsonKind::kObject:
      if (options_.masks) runs();
      else json_.skip();
      break;
    case io::JsonKind::kNull: json_.skip(); break;
    default: json_.fail("`segmentation` is neither an array of polygons nor an object with runs");
  }
}

void CocoParser::polygon() {
  size_t count = 0;
  float x = 0;
  json_.array([&] {
    const double value = json_.number();
    const auto single = static_cast<float>(value);
    if (!std::isfinite(single)) json_.fail("a vertex is too large for float32");
    if (options_.masks) {
      if (!(std::abs(value) <= kMaxMaskCoordinate))
        json_.fail("a vertex is at ", value, ", expected at most ", kMaxMaskCoordinate,
                   " pixels from the origin");
      out_.grid.push_back(mask_grid(value));
    }
    if (options_.polygons && count % 2 == 1) out_.vertex_list.push_back({x, single});
    x = single;
    ++count;
  });
  constexpr size_t kLeast = 6;
  if (count % 2 != 0 || count < kLeast)
    json_.fail("a polygon has ", count, " coordinates, expected an even number, ", kLeast,
               " or more");
  out_.vertex_begins.push_back(checked_size(out_.vertex_begins.back() + count / 2));
}

void CocoParser::runs() {
  std::vector<uint32_t>& list = out_.run_list;
  const uint32_t begin = out_.run_begins.back();
  std::vector<int64_t> size;
  bool counts = false;
  json_.object([&](std::string_view key) {
    if (key == "size") {
      size.clear();
      json_.array([&] {
        size.push_back(json_.integer());
        if (size.back() < 1 || size.back() > kMaxInt32 || size.size() > 2)
          json_.fail("`size` must be two numbers, height and width, from 1 to ", kMaxInt32);
      });
    } else if (key == "counts") {
      list.resize(begin);
      counts = true;
      if (json_.peek() == io::JsonKind::kString) {
        if (!decode_run_lengths(json_.string(), list))
          json_.fail("`counts` is not a string of run lengths in COCO's compressed form");
        return;
      }
      json_.array([&] {
        const int64_t count = json_.integer();
        if (count < 0 || count > kMaxInt32)
          json_.fail("`counts` has ", count, ", expected 0 to ", kMaxInt32);
        list.push_back(static_cast<uint32_t>(count));
      });
    } else {
      json_.skip();
    }
  });
  if (size.size() != 2 || !counts)
    json_.fail("the run lengths need `counts` and `size`, of two numbers");
  uint64_t pixels = 0;
  for (size_t i = begin; i < list.size(); ++i) pixels += list[i];
  if (pixels != static_cast<uint64_t>(size[0]) * static_cast<uint64_t>(size[1]))
    json_.fail("the run lengths add up to ", pixels, ", expected ", size[0], " * ", size[1]);
  (void)checked_size(list.size());
  run_sizes_.push_back({static_cast<uint32_t>(ids_.size()), size[0], size[1]});
}

// Of the object that is being read.
void CocoParser::drop_segmentation(size_t polygons) {
  out_.vertex_begins.resize(polygons + 1);
  const size_t vertices = out_.vertex_begins.back();
  if (options_.polygons) out_.vertex_list.resize(vertices);
  if (options_.masks) out_.grid.resize(2 * vertices);
  out_.run_list.resize(out_.run_begins.back());
  if (!run_sizes_.empty() && run_sizes_.back().object == ids_.size()) run_sizes_.pop_back();
}

void CocoParser::add(int64_t id, int64_t image_id, int64_t category_id, const Box& box) {
  ids_.push_back(id);
  (void)checked_size(ids_.size());
  image_ids_.push_back(image_id);
  out_.boxes.push_back(box);
  out_.labels.push_back(static_cast<int32_t>(category_id));
  out_.polygon_begins.push_back(checked_size(out_.vertex_begins.size() - 1));
  out_.run_begins.push_back(static_cast<uint32_t>(out_.run_list.size()));
}

uint32_t CocoParser::checked_size(size_t size) const {
  if (size >= std::numeric_limits<uint32_t>::max())
    json_.fail("the file has 2^32 objects, vertices or run lengths, or more");
  return static_cast<uint32_t>(size);
}

}  // namespace torchdali
