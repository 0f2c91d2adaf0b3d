// SPDX-License-Identifier: Apache-2.0
// The layout of data that may have none.
#pragma once

#include <string>
#include <utility>

#include "core/error.h"
#include "core/layout.h"
#include "core/schema.h"

namespace torchdali {

inline bool is_channel_count(int64_t extent) { return extent == 1 || extent == 3 || extent == 4; }

// What the extents say about images without a layout: channels are an axis of 1, 3 or 4 elements,
// at the end or before height and width. Empty if both of these axes or neither fit.
inline Layout evident_layout(const Shape& shape) {
  const int ndim = shape.ndim();
  if (ndim != 3 && ndim != 4) return {};
  const bool before = is_channel_count(shape[ndim - 3]);
  const bool at_end = is_channel_count(shape[ndim - 1]);
  if (before == at_end) return {};
  if (ndim == 3) return at_end ? "HWC" : "CHW";
  return at_end ? "FHWC" : "FCHW";
}

// Whether a sample could have an evident layout: its channels are an axis of 1, 3 or 4 elements.
inline bool could_be(const Shape& shape, const Layout& layout) {
  const int channels = layout.find('C');
  return channels >= 0 && layout.size() == shape.ndim() && is_channel_count(shape[channels]);
}

// The layout of an input. Pipelines differ in what they do with images and sequences without one:
// most follow DALI, where each operator has a default. In those that process a torch dataset, whose
// images are often CHW, a guess is wrong without notice, so that it must be evident from the
// extents. Immutable; any thread.
class KnownLayout {
 public:
  explicit KnownLayout(const OpSpec& spec, int input = 0)
      : guesses_(spec.guesses_layouts),
        name_(spec.schema->inputs.empty() ? "" : spec.schema->inputs[input].name) {}
  // The layout of a sample; empty if the default of the operator holds. Fails if the layout is
  // missing and not evident.
  Layout operator()(const Shape& shape, const Layout& layout) const {
    if (guesses_ || !layout.empty() || shape.ndim() < 3) return layout;
    const Layout evident = evident_layout(shape);
    if (evident.empty()) fail(shape);
    return evident;
  }

 private:
  [[noreturn]] void fail(const Shape& shape) const {
    raise(ErrorKind::kLayout, "input `", name_, "` has no layout, and its shape ", shape,
          " does not tell which axis has the channels",
          to_fix("give the field its layout, e.g. DataLoader(fields={\"image\": "
                 "Layout(\"CHW\")}), or use fn.reshape(..., layout=\"CHW\") in the pipeline"));
  }

  bool guesses_;
  std::string name_;
};

}  // namespace torchdali
