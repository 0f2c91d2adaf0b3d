// SPDX-License-Identifier: Apache-2.0
// Tables for resampling by strips: kernels/resample/strip_resampling.h.
#pragma once

#include "gpu/operator.h"
#include "kernels/resample/resample_table.h"
#include "kernels/resample/resample_task.h"

namespace torchdali::gpu {

// The tables of rows and columns of a resampling, and its source.
struct StripSource {
  const kernels::AxisTable& rows;
  const kernels::AxisTable& columns;
  int64_t height = 1, width = 1;  // in memory
  int64_t outer = 1;              // images, `task.outer_stride` apart
  int64_t first_row = 0;          // the row of the whole source that is first in memory
};

// Sets `task.strips` and `task.size` if the task can be resampled by strips: bytes to bytes, one or
// three channels, positive weights. Otherwise returns false. `channels` and strides are set before.
// `blob`: stores the tables; null: they are not stored. `pixels`: whether columns must be pixels,
// because the result is not stored as bytes. `batch`: number of tasks that run at the same time.
bool set_strips(Blob* blob, ResampleTask& task, const StripSource& source, bool pixels, int batch);

}  // namespace torchdali::gpu
