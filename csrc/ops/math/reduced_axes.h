// SPDX-License-Identifier: Apache-2.0
// The arguments `axes` and `axis_names`: the axes of a sample along which an operator works.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/operator.h"
#include "kernels/math/reduce.h"

namespace torchdali {

// For SchemaBuilder::with(). `what` ends "Axes ...", e.g. "to reduce; all by default".
inline auto reduced_axes_args(std::string what) {
  return [what = std::move(what)](SchemaBuilder& schema) {
    schema
        .optional_arg("axes", ArgType::kIntVec,
                      "Axes " + what + ". Negative ones count from the end; none may be repeated.")
        .optional_arg("axis_names", ArgType::kLayout,
                      "The axes by their letters in the layout, e.g. \"HW\"; excludes `axes`.");
  };
}

// Immutable; any thread.
class ReducedAxes {
 public:
  explicit ReducedAxes(const OpSpec& spec) {
    TORCHDALI_CHECK(!spec.has("axes") || !spec.has("axis_names"),
                    "`axes` excludes `axis_names`: give one or the other");
    if (spec.has("axes")) indices_ = spec.get<std::vector<int64_t>>("axes");
    if (spec.has("axis_names")) names_ = spec.get<Layout>("axis_names");
  }
  bool given() const { return indices_.has_value() || names_.has_value(); }
  bool no_indices() const { return indices_.has_value() && indices_->empty(); }

  // The axes of a sample; all if none are given.
  kernels::AxisMask operator()(const SampleView& sample) const {
    const int ndim = sample.shape.ndim();
    kernels::AxisMask mask = 0;
    const auto add = [&](int axis, auto name) {
      const kernels::AxisMask bit = kernels::AxisMask{1} << axis;
      TORCHDALI_CHECK((mask & bit) == 0, "axis ", name, " is named twice");
      mask |= bit;
    };
    if (names_.has_value()) {
      for (const char letter : names_->str()) {
        const int axis = sample.layout.find(letter);
        TORCHDALI_CHECK(axis >= 0, "`axis_names` has \"", letter, "\", which the layout ",
                        sample.layout, " has not",
                        to_fix("give the input a layout with that axis, or pass `axes`"));
        add(axis, std::string_view(&letter, 1));
      }
    } else if (indices_.has_value()) {
      for (const int64_t index : *indices_) {
        TORCHDALI_CHECK(index >= -ndim && index < ndim, "`axes` has ", index,
                        ", expected an axis of a sample of shape ", sample.shape, ": ", -ndim,
                        " to ", ndim - 1);
        add(static_cast<int>(index < 0 ? index + ndim : index), index);
      }
    } else {
      mask = all_axes(ndim);
    }
    return mask;
  }
  static kernels::AxisMask all_axes(int ndim) { return (kernels::AxisMask{1} << ndim) - 1; }

 private:
  std::optional<std::vector<int64_t>> indices_;
  std::optional<Layout> names_;
};

inline bool is_reduced(kernels::AxisMask mask, int axis) { return (mask >> axis & 1) != 0; }

// Number of values per result, and of results.
struct ReducedCounts {
  int64_t values = 1, results = 1;
  ReducedCounts(const Shape& shape, kernels::AxisMask mask) {
    for (int i = 0; i < shape.ndim(); ++i) (is_reduced(mask, i) ? values : results) *= shape[i];
  }
};

}  // namespace torchdali
