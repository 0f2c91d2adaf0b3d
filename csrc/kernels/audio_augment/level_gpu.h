// SPDX-License-Identifier: Apache-2.0
// Levels of signals on the GPU: one thread for each lane of a chunk, then one that adds them up, in
// the order of level_scalar.h; and what is computed with them.
#pragma once

#include "kernels/audio_augment/level_scalar.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// `in` is the data of a LoopedSignal, `out` one double for each part, `size` their number.
struct LevelTask : TaskBase {
  kernels::Level kind = kernels::Level::kSum;
  int64_t period = 1, start = 0, count = 0;
};
struct LevelKernel : Kernel<LevelTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    using kernels::Level;
    double level = 0;
    if (task.kind == Level::kSum) level = part<Level::kSum>(i);
    else if (task.kind == Level::kEnergy) level = part<Level::kEnergy>(i);
    else level = part<Level::kPeak>(i);
    static_cast<double*>(task.out)[i] = level;
  }

 private:
  template <kernels::Level kLevel>
  TORCHDALI_HOST_DEVICE double part(int64_t i) const {
    const float* in = static_cast<const float*>(task.in);
    const int64_t begin = i / kernels::kLevelLanes * kernels::kLevelChunk;
    const int64_t chunk_end = begin + kernels::kLevelChunk;
    const int64_t end = chunk_end < task.count ? chunk_end : task.count;
    double level = 0;
    for (int64_t k = begin + i % kernels::kLevelLanes; k < end; k += kernels::kLevelLanes)
      level = kernels::with_element<kLevel>(level, in[(task.start + k) % task.period]);
    return level;
  }
};
TORCHDALI_GPU_KERNEL(LevelKernel)

// `in` is the parts of a level, `out` the level; `size` is 1.
struct LevelSumTask : TaskBase {
  kernels::Level kind = kernels::Level::kSum;
  int64_t parts = 0;
};
struct LevelSumKernel : Kernel<LevelSumTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const double* parts = static_cast<const double*>(task.in);
    double level = 0;
    for (int64_t p = 0; p < task.parts; ++p) level = kernels::with_part(task.kind, level, parts[p]);
    static_cast<double*>(task.out)[i] = level;
  }
};
TORCHDALI_GPU_KERNEL(LevelSumKernel)

struct GainTask : TaskBase {
  const void* level = nullptr;  // of the signal, or null: its level does not matter
  kernels::Level kind = kernels::Level::kPeak;
  int64_t count = 0;
  double factor = 1;
  float limit = 0;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(level);
  }
};
struct GainKernel : Kernel<GainTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const float factor =
        task.level == nullptr
            ? static_cast<float>(task.factor)
            : kernels::level_factor(task.kind, *static_cast<const double*>(task.level), task.count,
                                    task.factor);
    static_cast<float*>(task.out)[i] =
        kernels::with_gain(static_cast<const float*>(task.in)[i], factor, task.limit);
  }
};
TORCHDALI_GPU_KERNEL(GainKernel)

struct MixTask : TaskBase {
  const void* noise = nullptr;
  const void *signal_level = nullptr, *noise_level = nullptr;
  int64_t period = 1, start = 0;
  double factor = 1;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(noise);
    fn(signal_level);
    fn(noise_level);
  }
};
struct MixKernel : Kernel<MixTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const float factor =
        kernels::noise_factor(*static_cast<const double*>(task.signal_level),
                              *static_cast<const double*>(task.noise_level), task.factor);
    const float noise = static_cast<const float*>(task.noise)[(task.start + i) % task.period];
    static_cast<float*>(task.out)[i] = static_cast<const float*>(task.in)[i] + factor * noise;
  }
};
TORCHDALI_GPU_KERNEL(MixKernel)

}  // namespace torchdali::gpu
