// SPDX-License-Identifier: Apache-2.0
// Symmetric windows along one axis, on the GPU. Sums are computed in the order of the CPU's loops,
// so that results are bit-identical.
#pragma once

#include "kernels/border.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// A symmetric window along one axis, with reflected borders: kernels/filter/convolve.h, one axis at
// a time.
struct ConvolveTask : TypedTask {
  const float* sum = nullptr;  // added to the scaled result; may be null
  float scale = 1.0f;
  int64_t extent = 1, stride = 1;  // of the axis; elements from one position to the next
  int64_t radius = 0;
  BlobOffset weights = 0;  // float[radius + 1], by distance

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(sum);
  }
};
struct ConvolveKernel : Kernel<ConvolveTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const auto* weights = list<float>(task.weights);
    Unravel index(i);
    const int64_t along = index.axis(task.stride), at = index.axis(task.extent);
    const int64_t begin = index.rest() * task.extent * task.stride + along;
    with_type(task.in_dtype, [&]<class T>() {
      const T* in = static_cast<const T*>(task.in) + begin;
      const auto value = [&](int64_t position) {
        const int64_t inside =
            kernels::border_index(position, task.extent, kernels::Border::kReflect101);
        return kernels::convert<float>(in[inside * task.stride]);
      };
      float total = weights[0] * value(at);
      for (int64_t k = 1; k <= task.radius; ++k)
        total += weights[k] * (value(at - k) + value(at + k));
      total *= task.scale;
      if (task.sum != nullptr) total = task.sum[i] + total;
      store_float(task.out, task.out_dtype, i, total);
    });
  }
};
TORCHDALI_GPU_KERNEL(ConvolveKernel)

}  // namespace torchdali::gpu
