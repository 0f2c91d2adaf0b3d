// SPDX-License-Identifier: Apache-2.0
// Several operators over one image as one kernel: pixels are resampled or loaded from a window, and
// go through the steps of chain_finish.h.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/resample/box_resampling.h"
#include "kernels/resample/chain_finish.h"
#include "kernels/resample/strip_resampling.h"

namespace torchdali::gpu {

struct ChainKernel : Kernel<ChainTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const FinishPixels sink{task, blob};
    if (task.resampled) BoxResampling<FinishPixels>{task, blob, sink}(i);
    else load(sink, i);
  }

 private:
  static constexpr int kPixels = kResampleRun;

  TORCHDALI_HOST_DEVICE void load(const FinishPixels& sink, int64_t i) const {
    const int64_t width = task.axes[2].out;
    Unravel index(i);
    const int64_t x = index.axis((width + kPixels - 1) / kPixels) * kPixels, row = index.rest();
    const int64_t from = row * task.axes[1].in_stride + x * task.axes[2].in_stride;
    const int count = width - x < kPixels ? static_cast<int>(width - x) : kPixels;
    if (task.channels == 3) return run<3>(sink, row, x, count, from);
    if (task.channels == 1) return run<1>(sink, row, x, count, from);
    constexpr int kAtOnce = 4;
    for (int p = 0; p < count; ++p)
      for (int64_t c = 0; c < task.channels; c += kAtOnce) {
        float values[kAtOnce] = {};
        const int64_t rest = task.channels - c;
        const int some = rest < kAtOnce ? static_cast<int>(rest) : kAtOnce;
        for (int k = 0; k < some; ++k)
          values[k] = load_float(task.in, task.in_dtype, from + p * task.axes[2].in_stride + c + k);
        sink.channels(row, x + p, c, some, values);
      }
  }
  template <int kChannels>
  TORCHDALI_HOST_DEVICE void run(const FinishPixels& sink, int64_t row, int64_t x, int count,
                                 int64_t from) const {
    float values[kPixels * kChannels] = {};
    const int64_t step = task.axes[2].in_stride;
    const bool back = step == -kChannels;
    if (count == kPixels && (back || step == kChannels)) {
      // Adjacent pixels, in the order of memory.
      const int64_t first = back ? from + (kPixels - 1) * step : from;
      load_run(task.in, task.in_dtype, first, first + kPixels * kChannels, values);
      if (back) {
        TORCHDALI_UNROLL
        for (int p = 0; p < kPixels / 2; ++p) {
          TORCHDALI_UNROLL
          for (int c = 0; c < kChannels; ++c) {
            float &a = values[p * kChannels + c], &b = values[(kPixels - 1 - p) * kChannels + c];
            const float kept = a;
            a = b;
            b = kept;
          }
        }
      }
    } else {
      TORCHDALI_UNROLL
      for (int p = 0; p < kPixels; ++p) {
        TORCHDALI_UNROLL
        for (int c = 0; c < kChannels; ++c)
          if (p < count)
            values[p * kChannels + c] = load_float(task.in, task.in_dtype, from + p * step + c);
      }
    }
    sink.pixels<kChannels>(row, x, count, values);
  }
};
TORCHDALI_GPU_KERNEL(ChainKernel)

struct ChainStripsKernel : Kernel<ChainTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const FinishPixels sink{task, blob};
    StripResampling<FinishPixels>{task, blob, sink}(i);
  }
};
TORCHDALI_GPU_KERNEL(ChainStripsKernel)

}  // namespace torchdali::gpu
