// SPDX-License-Identifier: Apache-2.0
// What CocoParser does when it has the whole file: ids become indices, and boxes are converted.
#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "kernels/masks/label_mask.h"
#include "ops/readers/coco/parser.h"

namespace torchdali {
namespace {

// In a vector of pairs that is sorted.
template <class Value>
const Value* find_id(const std::vector<std::pair<int64_t, Value>>& pairs, int64_t id) {
  const auto found = std::lower_bound(pairs.begin(), pairs.end(), id,
                                      [](const auto& pair, int64_t x) { return pair.first < x; });
  return found != pairs.end() && found->first == id ? &found->second : nullptr;
}

template <class Value>
void sort_unique(std::vector<std::pair<int64_t, Value>>& pairs, const char* what,
                 const std::string& path) {
  std::sort(pairs.begin(), pairs.end());
  const auto twice = std::adjacent_find(
      pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  TORCHDALI_CHECK_KIND(kData, twice == pairs.end(), "\"", path, "\" has two ", what,
                       " with the id ", twice->first);
}

}  // namespace

std::string CocoParser::object_name(size_t object) const {
  return ids_[object] >= 0 ? str_cat("annotation ", ids_[object]) : std::string("an annotation");
}

void CocoParser::resolve_images() {
  images_by_id_.reserve(out_.image_ids.size());
  for (const int64_t id : out_.image_ids)
    images_by_id_.emplace_back(id, static_cast<uint32_t>(images_by_id_.size()));
  sort_unique(images_by_id_, "images", path_);
  images_.reserve(image_ids_.size());
  for (size_t i = 0; i < image_ids_.size(); ++i) {
    const uint32_t* image = find_id(images_by_id_, image_ids_[i]);
    TORCHDALI_CHECK_KIND(kData, image != nullptr, "\"", path_, "\": ", object_name(i),
                         " is about image ", image_ids_[i], ", which `images` does not have",
                         to_fix("add the image to `images`, or remove its annotations"));
    images_.push_back(*image);
  }
}

void CocoParser::resolve_categories() {
  sort_unique(labels_by_category_, "categories", path_);
  for (size_t i = 0; i < out_.labels.size(); ++i) {
    const int32_t* label = find_id(labels_by_category_, out_.labels[i]);
    TORCHDALI_CHECK_KIND(kData, label != nullptr, "\"", path_, "\": ", object_name(i), " of image ",
                         image_ids_[i], " has the category ", out_.labels[i],
                         ", which `categories` does not have",
                         to_fix("add the category, or use avoid_class_remapping=True"));
    out_.labels[i] = *label;
  }
}

void CocoParser::check_runs() const {
  for (const RunSize& size : run_sizes_) {
    const uint32_t image = images_[size.object];
    TORCHDALI_CHECK_KIND(
        kData, size.height == out_.heights[image] && size.width == out_.widths[image], "\"", path_,
        "\": the run lengths of ", object_name(size.object), " are those of ", size.height, " x ",
        size.width, " pixels, and image ", out_.image_ids[image], " has ", out_.heights[image],
        " x ", out_.widths[image]);
  }
}

// By image; those of an image stay in the order of the file.
void CocoParser::sort_objects() {
  std::vector<uint32_t>& begins = out_.object_begins;
  begins.assign(out_.image_ids.size() + 1, 0);
  for (const uint32_t image : images_) ++begins[image + 1];
  for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  std::vector<uint32_t> next(begins.begin(), begins.end() - 1);
  out_.object_order.resize(images_.size());
  for (uint32_t object = 0; object < images_.size(); ++object)
    out_.object_order[next[images_[object]]++] = object;
}

void CocoParser::choose_samples() {
  std::vector<uint32_t>& samples = out_.samples;
  if (options_.images.empty()) {
    for (const auto& [id, image] : images_by_id_) samples.push_back(image);
  } else {
    // Two images of one name are an error only if that name is asked for.
    constexpr uint32_t kSeveral = 0xFFFFFFFF;
    std::unordered_map<std::string_view, uint32_t> by_name;
    for (uint32_t i = 0; i < out_.image_ids.size(); ++i) {
      const auto [place, first] = by_name.emplace(out_.name(i), i);
      if (!first) place->second = kSeveral;
    }
    for (const std::string& name : options_.images) {
      const auto found = by_name.find(name);
      TORCHDALI_CHECK_KIND(kData, found != by_name.end(), "\"", path_, "\" has no image \"", name,
                           "\", which `images` lists",
                           to_fix("write the paths as `file_name` has them in the file"));
      TORCHDALI_CHECK_KIND(kData, found->second != kSeveral, "\"", path_,
                           "\" has several images \"", name, "\", which `images` lists");
      samples.push_back(found->second);
    }
  }
  if (options_.skip_empty)
    std::erase_if(samples, [this](uint32_t image) { return out_.objects(image).empty(); });
}

void CocoParser::convert_boxes() {
  for (uint32_t image = 0; image < out_.image_ids.size(); ++image) {
    const auto width = static_cast<float>(out_.widths[image]),
               height = static_cast<float>(out_.heights[image]);
    const auto objects = out_.objects(image);
    TORCHDALI_CHECK_KIND(kData, !options_.ratio || objects.empty() || (width > 0 && height > 0),
                         "\"", path_, "\": image ", out_.image_ids[image], " has the height ",
                         height, " and the width ", width,
                         " (0: not given), and `ratio` needs both");
    for (const uint32_t object : objects) {
      CocoAnnotations::Box& box = out_.boxes[object];
      if (options_.ltrb) {
        box[2] += box[0];
        box[3] += box[1];
      }
      if (!options_.ratio) continue;
      box = {box[0] / width, box[1] / height, box[2] / width, box[3] / height};
      // With masks, vertices are kept to be saved, and drawn by whoever loads them.
      if (!options_.polygons || options_.masks) continue;
      const auto polygons = out_.polygons(object);
      for (uint32_t i = polygons.begin; i < polygons.end; ++i)
        for (uint32_t j = out_.vertices(i).begin; j < out_.vertices(i).end; ++j)
          out_.vertex_list[j] = {out_.vertex_list[j][0] / width, out_.vertex_list[j][1] / height};
    }
  }
}

}  // namespace torchdali
