// SPDX-License-Identifier: Apache-2.0
// Distances between the elements of a resampling job.
#pragma once

#include <cstdint>

#include "kernels/resample/resample.h"

namespace torchdali::kernels {

enum Axis { kD, kH, kW };

struct Strides {
  int64_t outer, slice, row;
};
// Of the source or of the result, with those that the job leaves out.
inline Strides strides_of(const ResampleJob& job, bool in) {
  const auto extent = [&](Axis a) { return in ? job.axes[a].in : job.axes[a].out; };
  Strides s = in ? Strides{job.in_outer_stride, job.in_slice_stride, job.in_row_stride}
                 : Strides{job.out_outer_stride, job.out_slice_stride, job.out_row_stride};
  if (s.row == 0) s.row = extent(kW) * job.channels;
  if (s.slice == 0) s.slice = extent(kH) * s.row;
  if (s.outer == 0) s.outer = extent(kD) * s.slice;
  return s;
}

}  // namespace torchdali::kernels
