// SPDX-License-Identifier: Apache-2.0
// Kernels of filters and warps.
#include "cuda/launch.cuh"
// Behind launch().
#include "cuda/families.h"
#include "gpu/table_filters.h"

namespace torchdali::gpu {

void add_cuda_filters(GpuKernels& table) { add_filters(table); }

}  // namespace torchdali::gpu
