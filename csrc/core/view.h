// SPDX-License-Identifier: Apache-2.0
// SampleView: describes the memory of one sample, which it does not own. Always contiguous, C
// order.
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

// size_bytes() of a tensor that is about to be made or comes from the user. Raises if it is larger
// than any machine's memory. Extents of an empty tensor are checked too, because products of some
// of them are strides, here and in torch.
inline size_t checked_size_bytes(const SampleView& view) {
  constexpr int64_t kMaxBytes = int64_t{1} << 46;
  int64_t bytes = itemsize(view.dtype);
  bool fits = true, empty = false;
  for (const int64_t extent : view.shape) {
    TORCHDALI_ASSERT(extent >= 0, "negative extent in ", view.shape);
    if (extent == 0) empty = true;
    else fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes) && bytes <= kMaxBytes;
  }
  TORCHDALI_CHECK_KIND(kRuntime, fits, "a tensor of ", dtype_name(view.dtype), " and shape ",
                       view.shape, " is too large: its extents",
                       empty ? ", without those of 0," : "", " make more than ", kMaxBytes,
                       " bytes");
  return empty ? 0 : static_cast<size_t>(bytes);
}

}  // namespace torchdali
