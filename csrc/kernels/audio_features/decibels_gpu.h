// SPDX-License-Identifier: Apache-2.0
// fn.to_decibels on the GPU.
#pragma once

#include "kernels/audio_features/decibels.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

struct DecibelsTask : TaskBase {
  kernels::DecibelScale scale;
  // If not null, the reference: a float in the workspace. 0 if it is negative.
  const void* reference = nullptr;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(reference);
  }
};
struct DecibelsKernel : Kernel<DecibelsTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    kernels::DecibelScale scale = task.scale;
    if (task.reference != nullptr) {
      const float greatest = *static_cast<const float*>(task.reference);
      scale.inverse_reference = kernels::inverse_of_reference(greatest > 0 ? greatest : 0);
    }
    static_cast<float*>(task.out)[i] =
        kernels::decibels_of(static_cast<const float*>(task.in)[i], scale);
  }
};
TORCHDALI_GPU_KERNEL(DecibelsKernel)

}  // namespace torchdali::gpu
