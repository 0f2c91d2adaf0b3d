// SPDX-License-Identifier: Apache-2.0
// Kernels as CUDA grids: y over tasks, x over the elements (or the blocks) of a task. A batch is
// one launch, for samples of any sizes. Included by generated files, before a header with kernels.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "gpu/registry.h"

namespace torchdali::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxTasks = 65535;       // along y
constexpr int64_t kMaxBlocks = 65536;  // along x; threads then compute several elements

// The least number of blocks per multiprocessor, so that some compute while others wait for memory.
// Limits the registers of a thread.
template <class K>
constexpr int min_blocks() {
  if constexpr (requires { K::kMinBlocks; }) return K::kMinBlocks;
  else return 1;
}

template <class K>
__global__ void __launch_bounds__(kThreads, min_blocks<K>())
    run(const typename K::Task* tasks, const void* blob, int first) {
  const typename K::Task& task = tasks[first + static_cast<int>(blockIdx.y)];
  const K kernel{{task, blob}};
  const int64_t calls = count_calls<K>(task.size);
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < calls; i += step)
    kernel(i);
}

template <BlockKernel K>
__global__ void __launch_bounds__(K::kThreads, min_blocks<K>())
    run_blocks(const typename K::Task* tasks, const void* blob, int first) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<typename K::Shared*>(memory);
  const typename K::Task& task = tasks[first + static_cast<int>(blockIdx.y)];
  const K kernel{{task, blob}};
  const int phases = kernel.phases();
  for (int64_t block = blockIdx.x; block < task.size; block += gridDim.x)
    for (int phase = 0; phase < phases; ++phase) {
      kernel(block, phase, static_cast<int>(threadIdx.x), shared);
      __syncthreads();
    }
}

template <class K>
int launch(const void* tasks, const LaunchSize& size, const void* blob, void* stream_handle) {
  if (size.max_size == 0) return cudaSuccess;
  const auto* all = static_cast<const typename K::Task*>(tasks);
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  int64_t blocks = size.max_size;
  if constexpr (BlockKernel<K>) {
    if (size.shared_bytes > kCommonSharedBytes) {
      const cudaError_t error =
          cudaFuncSetAttribute(run_blocks<K>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(size.shared_bytes));
      if (error != cudaSuccess) return (void)cudaGetLastError(), error;
    }
  } else {
    blocks = (count_calls<K>(size.max_size) + kThreads - 1) / kThreads;
  }
  blocks = std::min(blocks, kMaxBlocks);
  for (int first = 0; first < size.tasks; first += kMaxTasks) {
    const dim3 grid(static_cast<unsigned>(blocks),
                    static_cast<unsigned>(std::min(size.tasks - first, kMaxTasks)));
    if constexpr (BlockKernel<K>)
      run_blocks<K><<<grid, K::kThreads, size.shared_bytes, stream>>>(all, blob, first);
    else run<K><<<grid, kThreads, 0, stream>>>(all, blob, first);
  }
  return cudaGetLastError();
}

}  // namespace
}  // namespace torchdali::gpu

#undef TORCHDALI_REGISTER_KERNEL
#define TORCHDALI_REGISTER_KERNEL(kernel) TORCHDALI_DEFINE_KERNEL_REGISTRATION(kernel)
