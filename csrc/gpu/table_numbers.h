// SPDX-License-Identifier: Apache-2.0
// The table's kernels of numbers, of whatever `launch` turns functors into: gpu/table.h.
#pragma once

#include "gpu/table.h"
#include "kernels/math/arithmetic_gpu.h"
#include "kernels/math/lookup_gpu.h"
#include "kernels/math/reduce_gpu.h"
#include "kernels/math/standardize_gpu.h"

namespace torchdali::gpu {

inline void add_numbers(GpuKernels& table) {
  table.one_hot = &launch_tasks<OneHotGrid, OneHotTask>;
  table.lookup = &launch_with_blob<LookupGrid, LookupTask>;
  table.bytes = &launch_with_blob<BytesGrid, BytesTask>;
  table.standardize = &launch_with_blob<StandardizeGrid, StandardizeTask>;
  table.reduce = &launch_with_blob<ReduceGrid, ReduceTask>;
  table.fold = &launch_tasks<FoldGrid, FoldTask>;
  table.arithmetic = &launch_with_blob<ArithmeticGrid, ArithmeticTask>;
}

}  // namespace torchdali::gpu
