// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/coco/annotations.h"

#include "core/error.h"
#include "kernels/masks/label_mask.h"

namespace torchdali {

void CocoAnnotations::add_name(std::string_view name) {
  names += name;
  name_begins.push_back(names.size());
}

std::string_view CocoAnnotations::name(uint32_t image) const {
  const uint64_t begin = name_begins[image];
  return std::string_view(names).substr(begin, name_begins[image + 1] - begin);
}

std::span<const uint32_t> CocoAnnotations::objects(uint32_t image) const {
  const Range found = range(object_begins, image);
  return std::span(object_order).subspan(found.begin, found.size());
}

std::span<const int32_t> CocoAnnotations::outline(uint32_t polygon) const {
  const Range found = vertices(polygon);
  return std::span(grid).subspan(size_t{2} * found.begin, size_t{2} * found.size());
}

std::span<const uint32_t> CocoAnnotations::runs(uint32_t object) const {
  const Range found = range(run_begins, object);
  return std::span(run_list).subspan(found.begin, found.size());
}

void CocoAnnotations::check_mask_sizes(const std::string& path) const {
  for (const uint32_t image : samples) {
    const int64_t height = heights[image], width = widths[image];
    TORCHDALI_CHECK_KIND(
        kData, height > 0 && width > 0 && height <= kMaxMaskPixels / width, "\"", path,
        "\": image \"", name(image), "\" has the height ", height, " and the width ", width,
        " (0: not given); a mask needs both, and has at most ", kMaxMaskPixels, " pixels");
  }
}

}  // namespace torchdali
