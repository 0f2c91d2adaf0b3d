// SPDX-License-Identifier: Apache-2.0
// The table of kernels, of whatever `launch` turns functors into: see emulation.cpp and
// csrc/cuda/kernels.cu, which define launch(grid, tasks, most, stream) before they include this.
#pragma once

#include "gpu/grids/arithmetic.h"
#include "gpu/grids/convolve.h"
#include "gpu/grids/copy.h"
#include "gpu/grids/elements.h"
#include "gpu/grids/lookup.h"
#include "gpu/grids/mask.h"
#include "gpu/grids/reduce.h"
#include "gpu/grids/resample.h"
#include "gpu/grids/standardize.h"
#include "gpu/grids/warp.h"
#include "gpu/grids/window.h"

namespace torchdali::gpu {

template <class Grid, class Task>
int launch_tasks(const Task* tasks, int count, int64_t most, const void* /*blob*/, void* stream) {
  return launch(Grid{tasks}, count, most, stream);
}
template <class Grid, class Task>
int launch_with_blob(const Task* tasks, int count, int64_t most, const void* blob, void* stream) {
  return launch(Grid{tasks, blob}, count, most, stream);
}

inline GpuKernels make_table(const char* (*error_text)(int)) {
  return {.copy = &launch_tasks<CopyGrid, CopyTask>,
          .convert = &launch_tasks<ConvertGrid, ConvertTask>,
          .linear = &launch_tasks<LinearGrid, LinearTask>,
          .colour = &launch_tasks<ColourGrid, ColourTask>,
          .window = &launch_with_blob<WindowGrid, WindowTask>,
          .normalize = &launch_with_blob<NormalizeGrid, NormalizeTask>,
          .resample = &launch_with_blob<ResampleGrid, ResampleTask>,
          .erase = &launch_with_blob<EraseGrid, EraseTask>,
          .grid_mask = &launch_tasks<GridMaskGrid, GridMaskTask>,
          .one_hot = &launch_tasks<OneHotGrid, OneHotTask>,
          .lookup = &launch_with_blob<LookupGrid, LookupTask>,
          .bytes = &launch_with_blob<BytesGrid, BytesTask>,
          .standardize = &launch_with_blob<StandardizeGrid, StandardizeTask>,
          .reduce = &launch_with_blob<ReduceGrid, ReduceTask>,
          .fold = &launch_tasks<FoldGrid, FoldTask>,
          .arithmetic = &launch_with_blob<ArithmeticGrid, ArithmeticTask>,
          .convolve = &launch_with_blob<ConvolveGrid, ConvolveTask>,
          .correlate = &launch_with_blob<CorrelateGrid, CorrelateTask>,
          .warp = &launch_with_blob<WarpGrid, WarpTask>,
          .error_text = error_text};
}

}  // namespace torchdali::gpu
