// SPDX-License-Identifier: Apache-2.0
// SampleView: one sample's memory, described. Owns nothing; always contiguous, C order.
#pragma once

#include "core/dtype.h"
#include "core/layout.h"

namespace torchdali {

struct SampleView {
  void* data = nullptr;
  DType dtype = DType::kNone;
  Shape shape;
  Layout layout;

  int64_t volume() const { return shape.volume(); }
  int64_t size_bytes() const { return volume() * itemsize(dtype); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// size_bytes() of a tensor that is to be made; raises where no machine could hold it.
inline size_t checked_size_bytes(const SampleView& view) {
  constexpr int64_t kMaxBytes = int64_t{1} << 46;
  int64_t bytes = itemsize(view.dtype);
  bool fits = true;
  for (int64_t extent : view.shape) {
    TORCHDALI_ASSERT(extent >= 0, "negative extent in ", view.shape);
    if (extent == 0) return 0;
    fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes) && bytes <= kMaxBytes;
  }
  TORCHDALI_CHECK_KIND(kRuntime, fits, "out of memory: a tensor of ", dtype_name(view.dtype),
                       " and shape ", view.shape, " is too large");
  return static_cast<size_t>(bytes);
}

}  // namespace torchdali
