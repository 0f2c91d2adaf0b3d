// SPDX-License-Identifier: Apache-2.0
// bbox_paste on the GPU: one thread per coordinate.
#pragma once

#include "kernels/boxes/paste_boxes.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

struct PasteBoxesTask : TaskBase {
  kernels::PastedBoxes pasted;
};
struct PasteBoxesKernel : Kernel<PasteBoxesTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    static_cast<float*>(task.out)[i] = task.pasted(i, static_cast<const float*>(task.in)[i]);
  }
};
TORCHDALI_GPU_KERNEL(PasteBoxesKernel)

}  // namespace torchdali::gpu
