// SPDX-License-Identifier: Apache-2.0
// Boxes as rows of a tensor: the order of their coordinates, and the labels that go with them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/operator.h"

namespace torchdali {

inline constexpr const char *kBoxStarts = "xyz", *kBoxEnds = "XYZ", *kBoxSizes = "WHD";

inline bool is_order_of(const Layout& layout, std::string_view letters) {
  bool same = layout.size() == static_cast<int>(letters.size());
  for (const char letter : letters) same = same && layout.find(letter) >= 0;
  return same;
}

// Where a row has the start and the end of a box along each axis.
struct BoxColumns {
  int ndim = 2;
  std::array<int, 3> start{}, end{};
  bool sizes = false;  // `end` holds sizes

  // An empty layout stands for starts and then ends, or, with `sizes_by_default`, sizes.
  static BoxColumns of(const Layout& given, int ndim, bool sizes_by_default = false) {
    const std::string starts = std::string(kBoxStarts, static_cast<size_t>(ndim));
    const Layout with_ends(starts + std::string(kBoxEnds, static_cast<size_t>(ndim)));
    const Layout with_sizes(starts + std::string(kBoxSizes, static_cast<size_t>(ndim)));
    const Layout layout = !given.empty() ? given : sizes_by_default ? with_sizes : with_ends;
    BoxColumns c{.ndim = ndim, .sizes = is_order_of(layout, with_sizes.str())};
    TORCHDALI_CHECK_KIND(kLayout, c.sizes || is_order_of(layout, with_ends.str()),
                         "`bbox_layout` is ", layout, ", expected an order of ", with_ends, " or ",
                         with_sizes);
    for (size_t d = 0; d < static_cast<size_t>(ndim); ++d) {
      c.start[d] = layout.find(kBoxStarts[d]);
      c.end[d] = layout.find((c.sizes ? kBoxSizes : kBoxEnds)[d]);
    }
    return c;
  }
};

// Makes an output with the labels of the boxes that are kept.
inline void keep_labels(SampleContext& ctx, int output, std::span<const int32_t> kept,
                        size_t num_boxes, int input = 1) {
  const SampleView& labels = ctx.input(input);
  TORCHDALI_CHECK(labels.shape.ndim() >= 1 && labels.shape[0] == static_cast<int64_t>(num_boxes),
                  "input `labels` has shape ", labels.shape, ", expected one for each of the ",
                  num_boxes, " boxes");
  Shape shape = labels.shape;
  shape[0] = static_cast<int64_t>(kept.size());
  char* to = ctx.output(output, labels.dtype, shape).as<char>();
  if (num_boxes == 0) return;
  const size_t bytes = static_cast<size_t>(labels.size_bytes()) / num_boxes;
  for (const int32_t i : kept) {
    if (bytes > 0) std::memcpy(to, labels.as<const char>() + static_cast<size_t>(i) * bytes, bytes);
    to += bytes;
  }
}

}  // namespace torchdali
