// SPDX-License-Identifier: Apache-2.0
// Kernels of codecs.
#include "gpu/cuda/launch.cuh"
// Behind launch().
#include "gpu/cuda/families.h"
#include "gpu/table_codecs.h"

namespace torchdali::gpu {

void add_cuda_codecs(GpuKernels& table) { add_codecs(table); }

}  // namespace torchdali::gpu
