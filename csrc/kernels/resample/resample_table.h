// SPDX-License-Identifier: Apache-2.0
// Filter tables of one axis: the source pixels of each result pixel, and their weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/resample/resample.h"

namespace torchdali::kernels {

// Allocates from a scratch buffer. With a null base it only counts.
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

// Extent of the whole result, of which the axis may be a window.
int64_t full_extent(const ResampleAxis& axis);
// Source pixels per result pixel.
float axis_scale(const ResampleAxis& axis);
// The filter in use: min_filter or mag_filter.
ResampleFilter axis_filter(const ResampleAxis& axis);
// Whether no weight of a filter is negative.
inline bool is_positive(ResampleFilter filter) {
  return filter != ResampleFilter::kCubic && filter != ResampleFilter::kLanczos3;
}
// Upper bound of AxisTable::taps, known without the table.
int max_taps(const ResampleAxis& axis);
// Raises a value error unless the axis can be resampled.
void check_axis(const ResampleAxis& axis);

// Takes the memory for max_taps() from the arena; without filling it if the arena only counts.
// `add_up` is for nearest neighbors: their positions are computed by repeated addition of the step,
// as DALI does for rows and slices, instead of by multiplication, as it does for columns. The
// results differ if a position is exactly between two pixels.
AxisTable build_table(const ResampleAxis& axis, bool add_up, ScratchArena& arena);
// The same for nearest neighbors, ignoring the filter of the axis.
AxisTable build_nearest_table(const ResampleAxis& axis, bool add_up, ScratchArena& arena);

}  // namespace torchdali::kernels
