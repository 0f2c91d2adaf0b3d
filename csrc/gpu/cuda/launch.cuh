// SPDX-License-Identifier: Apache-2.0
// Kernels as CUDA grids: y over tasks, x over the elements of a task. A batch is one launch, for
// samples of any sizes. Included by generated files, before a header with kernels.
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

template <class K>
int launch(const void* tasks, int count, int64_t max_size, const void* blob, void* stream) {
  if (max_size == 0) return cudaSuccess;
  const auto* all = static_cast<const typename K::Task*>(tasks);
  const int64_t calls = count_calls<K>(max_size);
  const int64_t blocks = std::min((calls + kThreads - 1) / kThreads, kMaxBlocks);
  for (int first = 0; first < count; first += kMaxTasks) {
    const dim3 size(static_cast<unsigned>(blocks),
                    static_cast<unsigned>(std::min(count - first, kMaxTasks)));
    run<K><<<size, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(all, blob, first);
  }
  return cudaGetLastError();
}

}  // namespace
}  // namespace torchdali::gpu

#undef TORCHDALI_REGISTER_KERNEL
#define TORCHDALI_REGISTER_KERNEL(kernel) TORCHDALI_DEFINE_KERNEL_REGISTRATION(kernel)
