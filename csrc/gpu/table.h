// SPDX-License-Identifier: Apache-2.0
// From functors to the functions of GpuKernels. Who includes the tables (emulation.cpp, .cu files)
// defines launch(grid, tasks, most, stream) before.
#pragma once

#include "kernels/gpu/tasks.h"

namespace torchdali::gpu {

template <class Grid, class Task>
int launch_tasks(const Task* tasks, int count, int64_t most, const void* /*blob*/, void* stream) {
  return launch(Grid{tasks}, count, most, stream);
}
template <class Grid, class Task>
int launch_with_blob(const Task* tasks, int count, int64_t most, const void* blob, void* stream) {
  return launch(Grid{tasks, blob}, count, most, stream);
}

}  // namespace torchdali::gpu
