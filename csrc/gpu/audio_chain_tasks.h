// SPDX-License-Identifier: Apache-2.0
// The tasks of a chain over clips of audio.
#pragma once

#include "gpu/operator.h"
#include "kernels/audio/spectrogram_gpu.h"

namespace torchdali::gpu {

struct AudioChainTasks final : TaskBatch {
  Tasks<SpectrogramKernel> spectrograms{*this};
  Tasks<RelativeDecibelsKernel> decibels{*this};

  // Adds all work on the current sample, whose output 0 is `task.out`.
  void add(const SampleContext& ctx, SpectrogramTask task) {
    if (task.relative) {
      constexpr int64_t kPerBlock = RelativeDecibelsKernel::kPerBlock;
      task.maxima =
          static_cast<float*>(workspace.reserve(task.size * static_cast<int64_t>(sizeof(float))));
      RelativeDecibelsTask relative;
      relative.out = task.out;
      relative.values = task.rows * task.frames;
      relative.size = (relative.values + kPerBlock - 1) / kPerBlock;
      relative.maxima = task.maxima;
      relative.num_maxima = task.size;
      relative.scale = task.scale;
      decibels.add(ctx, relative);
    }
    spectrograms.add(ctx, task);
  }
};

}  // namespace torchdali::gpu
