// SPDX-License-Identifier: Apache-2.0
// The last step of fn.normalize on the GPU. Means and scales come from the host or from reductions.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// kernels/math/standardize.h: (x - mean) * scale + shift, with lists that are broadcast along axes.
struct StandardizeTask : TypedTask {
  int ndim = 0;
  int64_t extent[kMaxAxes] = {}, step[kMaxAxes] = {};  // in the lists; 0 along broadcast axes
  // Device memory. Where it is null, float[...] in the blob.
  const void *mean = nullptr, *scale = nullptr;
  DType mean_dtype = DType::kFloat;
  BlobOffset mean_list = 0, scale_list = 0;
  float shift = 0;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(mean);
    fn(scale);
  }
};
struct StandardizeKernel : Kernel<StandardizeTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    int64_t at = 0;
    for (int a = task.ndim - 1; a >= 0; --a) at += index.axis(task.extent[a]) * task.step[a];
    const void* means = task.mean == nullptr ? list<float>(task.mean_list) : task.mean;
    const void* scales = task.scale == nullptr ? list<float>(task.scale_list) : task.scale;
    const float mean = task.mean_dtype == DType::kFloat64
                           ? static_cast<float>(static_cast<const double*>(means)[at])
                           : static_cast<const float*>(means)[at];
    const float x = load_float(task.in, task.in_dtype, i);
    store_float(task.out, task.out_dtype, i,
                (x - mean) * static_cast<const float*>(scales)[at] + task.shift);
  }
};
TORCHDALI_GPU_KERNEL(StandardizeKernel)

}  // namespace torchdali::gpu
