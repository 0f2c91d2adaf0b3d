// SPDX-License-Identifier: Apache-2.0
// The table's kernels of codecs, of whatever `launch` turns functors into: gpu/table.h.
#pragma once

#include "gpu/table.h"
#include "kernels/jpeg/jpeg_gpu.h"

namespace torchdali::gpu {

inline void add_codecs(GpuKernels& table) {
  table.jpeg_blocks = &launch_with_blob<JpegBlocksGrid, JpegBlocksTask>;
  table.jpeg_pixels = &launch_tasks<JpegPixelsGrid, JpegPixelsTask>;
}

}  // namespace torchdali::gpu
