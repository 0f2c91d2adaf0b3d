// SPDX-License-Identifier: Apache-2.0
// The kernels of this library. It is of the same build as the engine; `table_bytes` tells others.
#include <cuda_runtime.h>

#include "gpu/cuda/families.h"

extern "C" __attribute__((visibility("default"))) const torchdali::gpu::GpuKernels*
torchdali_gpu_kernels() {
  static const torchdali::gpu::GpuKernels table = [] {
    torchdali::gpu::GpuKernels made;
    torchdali::gpu::add_cuda_images(made);
    torchdali::gpu::add_cuda_numbers(made);
    torchdali::gpu::add_cuda_filters(made);
    torchdali::gpu::add_cuda_codecs(made);
    torchdali::gpu::add_cuda_augmentations(made);
    made.error_text = [](int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); };
    return made;
  }();
  return &table;
}
