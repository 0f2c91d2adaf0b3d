// SPDX-License-Identifier: Apache-2.0
// Kernels of augmentations.
#include "gpu/cuda/launch.cuh"
// Behind launch().
#include "gpu/cuda/families.h"
#include "gpu/table_augmentations.h"

namespace torchdali::gpu {

void add_cuda_augmentations(GpuKernels& table) { add_augmentations(table); }

}  // namespace torchdali::gpu
