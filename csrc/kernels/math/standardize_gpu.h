// SPDX-License-Identifier: Apache-2.0
// fn.normalize, with means and scales that the host or a reduction before has made.
#pragma once

#include "kernels/gpu/functor.h"

namespace torchdali::gpu {

struct StandardizeGrid {
  const StandardizeTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const StandardizeTask& task = tasks[t];
    Unravel index(i);
    int64_t at = 0;
    for (int a = task.ndim - 1; a >= 0; --a) at += index.axis(task.extent[a]) * task.step[a];
    const void* means = task.mean == nullptr ? list_of<float>(blob, task.mean_list) : task.mean;
    const void* scales = task.scale == nullptr ? list_of<float>(blob, task.scale_list) : task.scale;
    const float mean = task.mean_dtype == DType::kFloat64
                           ? static_cast<float>(static_cast<const double*>(means)[at])
                           : static_cast<const float*>(means)[at];
    const float x = load_float(task.in, task.in_dtype, i);
    store_float(task.out, task.out_dtype, i,
                (x - mean) * static_cast<const float*>(scales)[at] + task.shift);
  }
};

}  // namespace torchdali::gpu
