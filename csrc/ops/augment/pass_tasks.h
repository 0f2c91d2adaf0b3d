// SPDX-License-Identifier: Apache-2.0
// What the GPU operators of this folder share: passes over an image, as tasks.
#pragma once

#include <vector>

#include "gpu/operator.h"
#include "kernels/augment/pass_gpu.h"

namespace torchdali {

// The task that moves pixels by a map, or copies them.
inline gpu::PixelPassTask make_map_task(gpu::Blob& blob, DType dtype, const kernels::MapPlan& map) {
  gpu::PixelPassTask task;
  task.dtype = dtype;
  task.map = map;
  task.moves = true;
  task.size = map.height * map.width;
  if (map.way == kernels::MapWay::kScaled) {
    std::vector<int32_t> columns(static_cast<size_t>(map.width));
    kernels::scaled_columns(map, columns.data());
    task.columns = blob.keep<int32_t>(columns);
  }
  return task;
}

}  // namespace torchdali
