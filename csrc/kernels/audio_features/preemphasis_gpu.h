// SPDX-License-Identifier: Apache-2.0
// fn.preemphasis_filter on the GPU.
#pragma once

#include "kernels/audio_features/preemphasis.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

struct PreemphasisTask : TypedTask {
  float coefficient = 0;
  kernels::PreemphasisBorder border = kernels::PreemphasisBorder::kClamp;
};
struct PreemphasisKernel : Kernel<PreemphasisTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    with_type(task.in_dtype, [&]<class In>() {
      using Value = kernels::Arithmetic<In>;
      const In* in = static_cast<const In*>(task.in);
      const In before = i > 0 ? in[i - 1] : kernels::sample_before(in, task.size, task.border);
      const Value y = kernels::convert<Value>(in[i]) -
                      Value(task.coefficient) * kernels::convert<Value>(before);
      with_type(task.out_dtype,
                [&]<class Out>() { static_cast<Out*>(task.out)[i] = kernels::convert<Out>(y); });
    });
  }
};
TORCHDALI_GPU_KERNEL(PreemphasisKernel)

}  // namespace torchdali::gpu
