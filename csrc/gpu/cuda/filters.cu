// SPDX-License-Identifier: Apache-2.0
// Kernels of filters and warps.
#include "gpu/cuda/launch.cuh"
// Behind launch().
#include "gpu/cuda/families.h"
#include "gpu/table_filters.h"

namespace torchdali::gpu {

void add_cuda_filters(GpuKernels& table) { add_filters(table); }

}  // namespace torchdali::gpu
