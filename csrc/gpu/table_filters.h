// SPDX-License-Identifier: Apache-2.0
// The table's kernels of filters and warps, of whatever `launch` turns functors into: gpu/table.h.
#pragma once

#include "gpu/table.h"
#include "kernels/filter/convolve_gpu.h"
#include "kernels/warp/warp_gpu.h"

namespace torchdali::gpu {

inline void add_filters(GpuKernels& table) {
  table.convolve = &launch_with_blob<ConvolveGrid, ConvolveTask>;
  table.correlate = &launch_with_blob<CorrelateGrid, CorrelateTask>;
  table.warp = &launch_with_blob<WarpGrid, WarpTask>;
}

}  // namespace torchdali::gpu
