// SPDX-License-Identifier: Apache-2.0
// One-hot encoding on the GPU.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/math/one_hot.h"

namespace torchdali::gpu {

// The output is [outer, classes, inner]: the bytes `on` where the input, [outer, inner], is the
// class, else `off`.
struct OneHotTask : TypedTask {
  int64_t classes = 0, inner = 1;
  uint64_t on = 0, off = 0;
};
struct OneHotKernel : Kernel<OneHotTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const int64_t inner = index.axis(task.inner), position = index.axis(task.classes);
    const int64_t from = index.rest() * task.inner + inner;
    with_type(task.in_dtype, [&]<class T>() {
      const bool on =
          kernels::class_of(static_cast<const T*>(task.in)[from], task.classes) == position;
      store_bytes(task.out, size_of(task.out_dtype), i, on ? task.on : task.off);
    });
  }
};
TORCHDALI_GPU_KERNEL(OneHotKernel)

}  // namespace torchdali::gpu
