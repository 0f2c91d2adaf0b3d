// SPDX-License-Identifier: Apache-2.0
// Kernels of images.
#include "gpu/cuda/launch.cuh"
// Behind launch().
#include "gpu/cuda/families.h"
#include "gpu/table_images.h"

namespace torchdali::gpu {

void add_cuda_images(GpuKernels& table) { add_images(table); }

}  // namespace torchdali::gpu
