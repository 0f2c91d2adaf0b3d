// SPDX-License-Identifier: Apache-2.0
// Functors as CUDA grids: y over tasks, x over the elements of a task. A batch is one launch,
// whatever the sizes of its samples.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/gpu/functor.h"

namespace torchdali::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxTasks = 65535;       // along y
constexpr int64_t kMaxBlocks = 65536;  // along x; threads go on behind the last one

// How many blocks of a grid's threads a multiprocessor is to hold at least, so that some wait for
// memory while others compute: what limits the registers of one.
template <class Grid>
constexpr int blocks_at_once() {
  if constexpr (requires { Grid::kBlocks; }) return Grid::kBlocks;
  else return 1;
}

template <class Grid>
__global__ void __launch_bounds__(kThreads, blocks_at_once<Grid>())
    run(const Grid grid, int first) {
  const int t = first + static_cast<int>(blockIdx.y);
  const int64_t calls = count_calls<Grid>(grid.tasks[t].size);
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < calls; i += step)
    grid(t, i);
}

template <class Grid>
int launch(const Grid& grid, int count, int64_t most, void* stream) {
  if (most == 0) return cudaSuccess;
  const int64_t blocks = std::min((count_calls<Grid>(most) + kThreads - 1) / kThreads, kMaxBlocks);
  for (int first = 0; first < count; first += kMaxTasks) {
    const dim3 size(static_cast<unsigned>(blocks),
                    static_cast<unsigned>(std::min(count - first, kMaxTasks)));
    run<<<size, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(grid, first);
  }
  return cudaGetLastError();
}

}  // namespace
}  // namespace torchdali::gpu
