// SPDX-License-Identifier: Apache-2.0
// Kernels of numbers.
#include "gpu/cuda/launch.cuh"
// Behind launch().
#include "gpu/cuda/families.h"
#include "gpu/table_numbers.h"

namespace torchdali::gpu {

void add_cuda_numbers(GpuKernels& table) { add_numbers(table); }

}  // namespace torchdali::gpu
