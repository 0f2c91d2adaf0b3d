// SPDX-License-Identifier: Apache-2.0
// Adjacent axes of an array, grouped into those that are all reduced (or broadcast along) and those
// that are all kept. For loops over any set of axes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/layout.h"

namespace torchdali::kernels {

// Bit i: axis i is reduced.
using AxisMask = uint32_t;

class AxisGroups {
 public:
  AxisGroups(const Shape& shape, AxisMask reduced) {
    for (int i = 0; i < shape.ndim(); ++i) {
      const bool is_reduced = (reduced >> i & 1) != 0;
      if (shape[i] == 1) continue;  // belongs to any group
      if (count_ > 0 && groups_[count_ - 1].reduced == is_reduced)
        groups_[count_ - 1].extent *= shape[i];
      else groups_[count_++] = {shape[i], is_reduced};
    }
    if (count_ == 0) groups_[count_++] = {1, true};
  }
  // Extents of the innermost two groups. before_last() is 1 if there is only one group.
  int64_t last() const { return groups_[count_ - 1].extent; }
  int64_t before_last() const { return count_ > 1 ? groups_[count_ - 2].extent : 1; }
  bool last_reduced() const { return groups_[count_ - 1].reduced; }

  // Calls fn(offset in the array, offset in the array without the reduced axes) for each position
  // of the groups before the innermost two, in C order. No extent is 0.
  template <class Fn>
  void for_each_outer(Fn&& fn) const {
    const int outer = std::max(count_ - 2, 0);
    int64_t whole_steps[kMaxDims], kept_steps[kMaxDims], index[kMaxDims] = {};
    int64_t whole_step = last() * before_last();
    int64_t kept_step = last_reduced() ? before_last() : last();
    for (int g = outer - 1; g >= 0; --g) {
      whole_steps[g] = whole_step;
      kept_steps[g] = groups_[g].reduced ? 0 : kept_step;
      whole_step *= groups_[g].extent;
      if (!groups_[g].reduced) kept_step *= groups_[g].extent;
    }
    int64_t whole = 0, kept = 0;
    for (;;) {
      fn(whole, kept);
      int g = outer - 1;
      for (; g >= 0; --g) {
        whole += whole_steps[g];
        kept += kept_steps[g];
        if (++index[g] < groups_[g].extent) break;
        whole -= groups_[g].extent * whole_steps[g];
        kept -= groups_[g].extent * kept_steps[g];
        index[g] = 0;
      }
      if (g < 0) return;
    }
  }

 private:
  struct Group {
    int64_t extent = 1;
    bool reduced = true;
  };
  Group groups_[kMaxDims];
  int count_ = 0;
};

}  // namespace torchdali::kernels
