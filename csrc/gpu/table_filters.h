// SPDX-License-Identifier: Apache-2.0
// The table's kernels of filters and warps, of whatever `launch` turns functors into: gpu/table.h.
#pragma once

#include "gpu/grids/convolve.h"
#include "gpu/grids/warp.h"
#include "gpu/table.h"

namespace torchdali::gpu {

inline void add_filters(GpuKernels& table) {
  table.convolve = &launch_with_blob<ConvolveGrid, ConvolveTask>;
  table.correlate = &launch_with_blob<CorrelateGrid, CorrelateTask>;
  table.warp = &launch_with_blob<WarpGrid, WarpTask>;
}

}  // namespace torchdali::gpu
