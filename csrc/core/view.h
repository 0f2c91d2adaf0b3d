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

}  // namespace torchdali
