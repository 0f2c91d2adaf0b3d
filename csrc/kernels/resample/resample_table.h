// SPDX-License-Identifier: Apache-2.0
// Filter tables of one axis: which source pixels make each result pixel, with which weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/resample/resample.h"

namespace torchdali::kernels {

// Hands out pieces of a scratch buffer. With a null base it only counts.
class ScratchArena {
 public:
  explicit ScratchArena(void* base) : base_(static_cast<std::byte*>(base)) {}
  template <class T>
  T* take(int64_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const size_t at = used_;
    used_ += (static_cast<size_t>(count) * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    return base_ ? reinterpret_cast<T*>(base_ + at) : nullptr;
  }
  bool counting() const { return base_ == nullptr; }
  size_t used() const { return used_; }

 private:
  static constexpr size_t kAlign = 64;
  std::byte* base_;
  size_t used_ = 0;
};

struct AxisTable {
  int64_t out = 0;
  // Every result pixel reads `taps` source pixels from start[i] on, all inside the source; counted
  // from ResampleAxis::stored. The weights, [out, taps], add up to 1.
  int taps = 0;
  int32_t* start = nullptr;
  float* weights = nullptr;
  ResampleRange source = {};  // all pixels that are read
  bool identity = false;      // start[i] == source.begin + i with the weight 1: a copy
  bool positive = false;      // no weight is negative
};

// Extent of the whole result, of which the axis may want a window.
int64_t full_extent(const ResampleAxis& axis);
// Source pixels that one result pixel stands for.
float axis_scale(const ResampleAxis& axis);
// What the axis uses: min_filter or mag_filter.
ResampleFilter axis_filter(const ResampleAxis& axis);
// Upper bound of AxisTable::taps, known without the table.
int max_taps(const ResampleAxis& axis);
// Raises a value error unless the axis can be resampled.
void check_axis(const ResampleAxis& axis);

// Takes the memory for max_taps() from the arena; fills nothing in when the arena only counts.
// `add_up` matters to nearest neighbours: their positions are found by adding the step again and
// again, as DALI does for rows and slices, instead of by multiplication, as it does for columns.
// The two differ where a position falls right between two pixels.
AxisTable build_table(const ResampleAxis& axis, bool add_up, ScratchArena& arena);
// The same for nearest neighbours, whatever filter the axis names.
AxisTable build_nearest_table(const ResampleAxis& axis, bool add_up, ScratchArena& arena);

}  // namespace torchdali::kernels
