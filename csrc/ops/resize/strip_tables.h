// SPDX-License-Identifier: Apache-2.0
// Tables of resamplings that go by strips: kernels/resample/strips_gpu.h.
#pragma once

#include "gpu/operator.h"
#include "kernels/resample/resample_table.h"

namespace torchdali::gpu {

// Tasks::keep().
using KeepBytes = std::function<BlobOffset(std::span<const std::byte>)>;

// What a resampling reads: its tables of rows and columns, and the source there is.
struct StripSource {
  const kernels::AxisTable& rows;
  const kernels::AxisTable& columns;
  int64_t height = 1, width = 1;  // in memory
  int64_t outer = 1;              // images, of `task.outer_stride`
  int64_t first_row = 0;          // the number of the first row in memory in the whole source
};

// Sets `task.strips` and `task.size`, where the task can be done so: bytes to bytes, one or three
// channels, weights that are positive. `channels` and strides are set. `pixels`: columns are to be
// pixels, since what becomes of them is no row of bytes. `batch`: tasks that run at the same time.
bool set_strips(const KeepBytes& keep, ResampleTask& task, const StripSource& source, bool pixels,
                int batch);

}  // namespace torchdali::gpu
