// SPDX-License-Identifier: Apache-2.0
// Conversion of element types on the GPU, as kernels/convert.h does it.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

struct ConvertKernel : Kernel<TypedTask> {
  static constexpr int kElementsPerCall = 8;
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = i * kElementsPerCall;
    // float holds every uint8, and conversion to uint8 loses nothing more after one to float.
    if (task.in_dtype == DType::kUInt8 || task.in_dtype == DType::kFloat) {
      float x[kElementsPerCall];
      load_run(task.in, task.in_dtype, first, task.size, x);
      store_run(task.out, task.out_dtype, first, task.size, x);
      return;
    }
    with_type(task.in_dtype, [&]<class From>() {
      with_type(task.out_dtype, [&]<class To>() {
        const From* in = static_cast<const From*>(task.in);
        To* out = static_cast<To*>(task.out);
        for (int64_t k = first; k < first + kElementsPerCall && k < task.size; ++k)
          out[k] = kernels::convert<To>(in[k]);
      });
    });
  }
};
TORCHDALI_GPU_KERNEL(ConvertKernel)

}  // namespace torchdali::gpu
