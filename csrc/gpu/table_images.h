// SPDX-License-Identifier: Apache-2.0
// The table's kernels of images, of whatever `launch` turns functors into: gpu/table.h.
#pragma once

#include "gpu/table.h"
#include "kernels/math/elements_gpu.h"
#include "kernels/resample/chain_gpu.h"
#include "kernels/resample/resample_gpu.h"
#include "kernels/resample/strips_gpu.h"
#include "kernels/window/copy_gpu.h"
#include "kernels/window/mask_gpu.h"
#include "kernels/window/window_gpu.h"

namespace torchdali::gpu {

inline void add_images(GpuKernels& table) {
  table.copy = &launch_tasks<CopyGrid, CopyTask>;
  table.convert = &launch_tasks<ConvertGrid, ConvertTask>;
  table.linear = &launch_tasks<LinearGrid, LinearTask>;
  table.color = &launch_tasks<ColorGrid, ColorTask>;
  table.window = &launch_with_blob<WindowGrid, WindowTask>;
  table.normalize = &launch_with_blob<NormalizeGrid, NormalizeTask>;
  table.resample = &launch_with_blob<ResampleGrid, ResampleTask>;
  table.resample_strips = &launch_with_blob<ResampleStripsGrid, ResampleTask>;
  table.chain = &launch_with_blob<ChainGrid, ChainTask>;
  table.chain_strips = &launch_with_blob<ChainStripsGrid, ChainTask>;
  table.erase = &launch_with_blob<EraseGrid, EraseTask>;
  table.grid_mask = &launch_tasks<GridMaskGrid, GridMaskTask>;
}

}  // namespace torchdali::gpu
