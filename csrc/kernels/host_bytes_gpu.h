// SPDX-License-Identifier: Apache-2.0
// Values that the host knows, stored on the GPU: shapes, get_property.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

struct HostBytesTask : TaskBase {
  BlobOffset bytes = 0;
};
struct HostBytesKernel : Kernel<HostBytesTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    static_cast<char*>(task.out)[i] = list<char>(task.bytes)[i];
  }
};
TORCHDALI_GPU_KERNEL(HostBytesKernel)

}  // namespace torchdali::gpu
