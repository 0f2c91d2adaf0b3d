// SPDX-License-Identifier: Apache-2.0
// Which axes of a sample an operator works on: its arguments `axes` (numbers, negative ones count
// from the end) and `axis_names` (letters of the layout).
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/argument.h"
#include "core/known_layout.h"
#include "core/operator.h"

namespace torchdali {

// An axis of a sample of `ndim` dimensions by its number. `argument` names it in errors.
inline int checked_axis(int64_t value, int ndim, const char* argument) {
  TORCHDALI_CHECK_KIND(kIndex, value >= -ndim && value < ndim, "axis ", value, " of `", argument,
                       "` is not in [", -ndim, ", ", ndim - 1, "]");
  return static_cast<int>(value < 0 ? value + ndim : value);
}

// An axis of a sample by its letter.
inline int checked_axis(char letter, const Layout& layout, const char* argument) {
  const int axis = layout.find(letter);
  TORCHDALI_CHECK_KIND(kLayout, axis >= 0, "axis \"", letter, "\" of `", argument,
                       "` is not in the layout ", layout);
  return axis;
}

struct AxisList {
  std::array<int, kMaxDims> axes{};
  int count = 0;

  void add(int axis) {
    for (int i = 0; i < count; ++i)
      TORCHDALI_CHECK(axes[i] != axis, "axis ", axis, " is given twice");
    axes[count++] = axis;  // no axis twice, so there is room for all
  }
  bool contains(int axis) const { return std::find(begin(), end(), axis) != end(); }
  const int* begin() const { return axes.data(); }
  const int* end() const { return axes.data() + count; }
};

// The axes are those that the user gave, else the default of `axis_names` if there is one, else
// that of `axes`. An empty list means all axes. Immutable; any thread.
class AxisArgs {
 public:
  // `names_win`: both may be given, and names have priority.
  explicit AxisArgs(const OpSpec& spec, bool names_win = false)
      : axes_(spec, "axes"), known_(spec), named_(spec.has("axis_names")) {
    TORCHDALI_CHECK(names_win || !(spec.has("axes") && named_),
                    "`axes` and `axis_names` exclude each other");
    if (named_ || (!spec.has("axes") && spec.defined("axis_names")))
      names_ = spec.get<Layout>("axis_names");
  }

  AxisList operator()(const SampleContext& ctx, const Shape& shape, const Layout& given) const {
    AxisList list;
    const Layout layout = names_.empty() ? given : known_(shape, given);
    if (named_ || (!names_.empty() && !layout.empty())) {
      for (const char letter : names_.str()) list.add(checked_axis(letter, layout, "axis_names"));
    } else if (axes_.defined()) {
      static thread_local std::vector<int64_t> buffer;
      for (const int64_t value : axes_(ctx, buffer))
        list.add(checked_axis(value, shape.ndim(), "axes"));
    }
    if (list.count == 0)
      for (int i = 0; i < shape.ndim(); ++i) list.add(i);
    return list;
  }

 private:
  ListArg<int64_t> axes_;
  KnownLayout known_;
  Layout names_;
  bool named_;
};

}  // namespace torchdali
