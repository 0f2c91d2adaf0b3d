// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of this library, for the engine.
#include <cuda_runtime.h>

#include "gpu/registry.h"

extern "C" __attribute__((visibility("default"))) const torchdali::gpu::KernelLibrary*
torchdali_gpu_library() {
  static const torchdali::gpu::KernelLibrary library{
      .sources = torchdali::gpu::kKernelSources,
      .kernels = torchdali::gpu::registered_kernels,
      .error_text = [](int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); },
  };
  return &library;
}
