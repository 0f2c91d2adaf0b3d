// SPDX-License-Identifier: Apache-2.0
// resample_signal.h on the GPU, with conversion of the elements.
#pragma once

#include "kernels/audio/resample_signal_scalar.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

struct ResampleSignalTask : TypedTask {
  int64_t length = 0;    // of the input, in samples
  int64_t channels = 1;  // interleaved
  kernels::SignalSteps steps;
  BlobOffset weights = 0;
  int before = 0, taps = 0;
  kernels::SignalScale scale;
};
struct ResampleSignalKernel : Kernel<ResampleSignalTask> {
  static constexpr int kLanes = kernels::kSignalLanes;

  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t output = i / task.channels, channel = i - output * task.channels;
    if (kernels::is_copy(task.steps)) return store(i, sample(output, channel));
    const kernels::SignalPosition at = signal_position(task.steps, output);
    const bool stored = task.steps.phases > 0;
    const kernels::SignalNode node =
        stored ? kernels::SignalNode{0, 0.0f} : kernels::signal_node(at.between);
    const auto row = stored ? static_cast<int64_t>(at.between) : int64_t{node.node} * 2;
    const float* weights = list<float>(task.weights) + row * task.taps;
    float sum[kLanes];
    TORCHDALI_UNROLL
    for (int l = 0; l < kLanes; ++l) sum[l] = 0;
    for (int k = 0; k < task.taps; k += kLanes) {
      TORCHDALI_UNROLL
      for (int l = 0; l < kLanes; ++l) {
        const float weight =
            stored ? weights[k + l] : weights[2 * k + l] + node.part * weights[2 * k + kLanes + l];
        const float product = weight * sample(at.sample - task.before + k + l, channel);
        sum[l] = k == 0 ? product : sum[l] + product;
      }
    }
    store(i, kernels::add_lanes(sum));
  }

 private:
  TORCHDALI_HOST_DEVICE void store(int64_t i, float x) const {
    store_float(task.out, task.out_dtype, i, x * task.scale.out);
  }
  TORCHDALI_HOST_DEVICE float sample(int64_t at, int64_t channel) const {
    if (at < 0 || at >= task.length) return 0;
    const float x = load_float(task.in, task.in_dtype, at * task.channels + channel);
    return kernels::scaled_sample(task.scale, x);
  }
};
TORCHDALI_GPU_KERNEL(ResampleSignalKernel)

}  // namespace torchdali::gpu
