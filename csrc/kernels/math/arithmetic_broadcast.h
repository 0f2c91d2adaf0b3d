// SPDX-License-Identifier: Apache-2.0
// NumPy's broadcasting: the elements of a small array, repeated to fill a larger shape.
#pragma once

#include <cstdint>

#include "core/layout.h"

namespace torchdali::kernels {

// How an operand of shape `from` is broadcast to the shape `to`. Axes are merged as far as
// possible, outermost first; along some the operand repeats.
class Broadcast {
 public:
  Broadcast(const Shape& from, const Shape& to);
  // Period of the pattern, in elements of `to`.
  int64_t period() const { return period_; }
  // Writes elements [begin, begin + count) of the operand, seen in the shape `to`.
  void fill(void* out, const void* from, int64_t itemsize, int64_t begin, int64_t count) const;

 private:
  template <class T>
  void fill_as(T* out, const T* from, int64_t begin, int64_t count) const;
  struct Axis {
    int64_t extent = 1;
    int64_t stride = 0;  // 0: repeats
  };
  Axis axes_[kMaxDims];
  int num_axes_ = 0;
  int64_t period_ = 1;
};

// `count` times the element at `value`.
void fill_scalar(void* out, const void* value, int64_t itemsize, int64_t count);

}  // namespace torchdali::kernels
