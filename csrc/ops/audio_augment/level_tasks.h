// SPDX-License-Identifier: Apache-2.0
// Levels of signals on the GPU, as tasks of two kernels.
#pragma once

#include <cstdint>

#include "gpu/operator.h"
#include "kernels/audio_augment/level_gpu.h"

namespace torchdali {

class LevelTasks {
 public:
  explicit LevelTasks(gpu::TaskBatch& batch) : batch_(batch), parts_(batch), sums_(batch) {}
  // Returns where the level will be: one double in the workspace. `count` is above 0.
  const void* add(kernels::Level kind, const kernels::LoopedSignal& signal, int64_t count) {
    const int64_t num_parts = kernels::count_level_parts(count);
    gpu::LevelTask parts;
    parts.in = signal.data;
    parts.out = batch_.workspace.reserve(num_parts * static_cast<int64_t>(sizeof(double)));
    parts.size = num_parts;
    parts.kind = kind;
    parts.period = signal.period;
    parts.start = signal.start;
    parts.count = count;
    parts_.add_intermediate(parts);
    gpu::LevelSumTask sum;
    sum.in = parts.out;
    sum.out = batch_.workspace.reserve(sizeof(double));
    sum.size = 1;
    sum.kind = kind;
    sum.parts = num_parts;
    sums_.add_intermediate(sum);
    return sum.out;
  }

 private:
  gpu::TaskBatch& batch_;
  gpu::Tasks<gpu::LevelKernel> parts_;
  gpu::Tasks<gpu::LevelSumKernel> sums_;
};

}  // namespace torchdali
