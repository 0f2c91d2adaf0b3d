// SPDX-License-Identifier: Apache-2.0
// Resampling by copying pixels: the nearest neighbor, and axes that keep their extent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/resample/resample.h"
#include "kernels/resample/resample_table.h"
#include "kernels/resample_rows/gather_bytes.h"

namespace torchdali::kernels {

// Selects pixels of a plane, the axes H and W of a job.
class NearestPlane {
 public:
  NearestPlane(const ResampleJob& job, ScratchArena& arena);
  // Rows [begin, end) of the result; strides in bytes.
  void rows(const std::byte* in, int64_t in_stride, int64_t begin, int64_t end, std::byte* out,
            int64_t out_stride) const;
  int64_t height() const { return h_.out; }

 private:
  AxisTable h_, w_;
  int64_t pixel_;  // bytes
  const GatherKernels& kernels_ = gather_kernels();
  ByteGather gather_;
};

void resample_nearest(const ResampleJob& job, const void* in, void* out, ScratchArena& arena);

}  // namespace torchdali::kernels
