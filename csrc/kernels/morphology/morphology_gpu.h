// SPDX-License-Identifier: Apache-2.0
// Dilation and erosion on the GPU, along one axis at a time.
#pragma once

#include "kernels/border.h"
#include "kernels/gpu/kernel.h"
#include "kernels/morphology/morphology_scalar.h"

namespace torchdali::gpu {

struct MorphologyTask : TypedTask {
  int64_t extent = 1, stride = 1;  // of the axis; elements from one position to the next
  int64_t before = 0, after = 0;
  kernels::Border border = kernels::Border::kConstant;
  bool dilate = true;
};
struct MorphologyKernel : Kernel<MorphologyTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    switch (task.in_dtype) {
      case DType::kUInt16: return extreme<uint16_t>(i);
      case DType::kInt16: return extreme<int16_t>(i);
      case DType::kInt32: return extreme<int32_t>(i);
      case DType::kFloat: return extreme<float>(i);
      default: return extreme<uint8_t>(i);
    }
  }

 private:
  template <class T>
  TORCHDALI_HOST_DEVICE void extreme(int64_t i) const {
    if (task.dilate) extreme<kernels::Larger, T>(i);
    else extreme<kernels::Smaller, T>(i);
  }
  template <class Op, class T>
  TORCHDALI_HOST_DEVICE void extreme(int64_t i) const {
    Unravel index(i);
    const int64_t along = index.axis(task.stride), at = index.axis(task.extent);
    const T* in = static_cast<const T*>(task.in) + index.rest() * task.extent * task.stride + along;
    T result = in[at * task.stride];
    for (int64_t k = -task.before; k <= task.after; ++k) {
      const int64_t inside = kernels::border_index(at + k, task.extent, task.border);
      if (inside >= 0) result = Op::of(result, in[inside * task.stride]);
    }
    static_cast<T*>(task.out)[i] = result;
  }
};
TORCHDALI_GPU_KERNEL(MorphologyKernel)

}  // namespace torchdali::gpu
