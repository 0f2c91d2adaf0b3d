// SPDX-License-Identifier: Apache-2.0
// From a window of a sample to the task of the window kernels.
#pragma once

#include <vector>

#include "core/view.h"
#include "gpu/operator.h"
#include "kernels/window/fill.h"
#include "kernels/window/window.h"
#include "kernels/window/window_gpu.h"

namespace torchdali::gpu {

// Sets the fields of `task` about a window and its data, except for the fill. `out` is the output
// that was made, whose axis order[i] is axis i of the window; `reversed`: this axis of the window
// is mirrored, -1: none. Returns false if there is nothing to do.
inline bool set_window_place(WindowTask& task, const SampleView& in, const SampleView& out,
                             const Shape& anchor, const Shape& shape, const std::vector<int>& order,
                             int reversed, int channel_axis) {
  if (out.volume() == 0) return false;
  TORCHDALI_CHECK_KIND(kUnsupported, shape.ndim() <= kMaxAxes, "a tensor of ", shape.ndim(),
                       " dimensions, on the GPU at most ", kMaxAxes, " are possible");
  const kernels::Overlap overlap(in.shape, anchor, shape);
  task.in_dtype = in.dtype;
  task.out_dtype = out.dtype;
  task.out = out.data;
  task.size = out.volume();
  task.ndim = shape.ndim();
  task.channel_axis = channel_axis < 0 ? -1 : order[static_cast<size_t>(channel_axis)];
  int64_t offset = 0, stride = 1;
  for (int i = in.shape.ndim() - 1; i >= 0; stride *= in.shape[i--]) {
    const auto a = static_cast<size_t>(order[static_cast<size_t>(i)]);
    const bool back = i == reversed;
    const int64_t extent = shape[i], low = overlap.to[i], high = low + overlap.shape[i];
    task.extent[a] = extent;
    task.in_stride[a] = back ? -stride : stride;
    task.low[a] = back ? extent - high : low;
    task.high[a] = back ? extent - low : high;
    offset += (back ? anchor[i] + extent - 1 : anchor[i]) * stride;
  }
  // May point outside the input if the window begins there; such elements are not read.
  task.in = reinterpret_cast<const void*>(  // NOLINT(performance-no-int-to-ptr)
      reinterpret_cast<uintptr_t>(in.data) + static_cast<uintptr_t>(offset * itemsize(in.dtype)));
  return true;
}

// Sets everything except for normalization. fill(channel, channels) returns the value outside the
// input, as a float.
template <class Fill>
bool set_window(Blob& blob, WindowTask& task, const SampleView& in, const SampleView& out,
                const Shape& anchor, const Shape& shape, const std::vector<int>& order,
                int reversed, int channel_axis, Fill&& fill) {
  if (!set_window_place(task, in, out, anchor, shape, order, reversed, channel_axis)) return false;
  const int64_t channels = channel_axis < 0 ? 1 : shape[channel_axis];
  std::vector<uint64_t> values(static_cast<size_t>(channels));
  if (!(kernels::Overlap(in.shape, anchor, shape).shape == shape))
    for (int64_t c = 0; c < channels; ++c)
      values[static_cast<size_t>(c)] = kernels::fill_element(out.dtype, fill(c, channels));
  task.fill = blob.keep(std::span<const uint64_t>(values));
  return true;
}

}  // namespace torchdali::gpu
