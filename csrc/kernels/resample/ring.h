// SPDX-License-Identifier: Apache-2.0
// Rows (or slices) of the source that went through the first pass of resampling.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/resample/resample_table.h"
#include "kernels/resample_rows/resample_rows.h"

namespace torchdali::kernels {

// As many as the second pass sees at once.
template <class Mid>
class Ring {
 public:
  Ring(int64_t capacity, int64_t elements, ScratchArena& arena)
      : capacity_(capacity), stride_((elements + kRowPadding + 31) / 32 * 32) {
    rows_ = arena.take<Mid>(capacity_ * stride_);
    held_ = arena.take<int64_t>(capacity_);
  }
  void clear() { std::fill(held_, held_ + capacity_, -1); }
  template <class Make>
  const Mid* get(int64_t source, Make make) {
    // Extents are less than 2^31; a division of 32 bits is faster.
    const int64_t place = static_cast<uint32_t>(source) % static_cast<uint32_t>(capacity_);
    Mid* row = rows_ + place * stride_;
    if (int64_t& held = held_[place]; held != source) {
      make(row);
      held = source;
    }
    return row;
  }

 private:
  int64_t capacity_, stride_;
  Mid* rows_;
  int64_t* held_;  // source row in each place, -1: none
};

}  // namespace torchdali::kernels
