// SPDX-License-Identifier: Apache-2.0
// The common part of the tasks of noise operators.
#pragma once

#include "gpu/operator.h"
#include "kernels/noise/noise_gpu.h"
#include "kernels/noise/random_block.h"

namespace torchdali {

// `out` is output 0. `count` is the number of its elements or pixels, each of which uses a random
// word.
inline void set_noise(gpu::NoiseTask& task, const SampleContext& ctx, const SampleView& out,
                      int64_t count) {
  const RandomStream random = ctx.random();
  task.in = ctx.input(0).data;
  task.out = out.data;
  task.dtype = out.dtype;
  task.count = count;
  task.size =
      (count + kernels::kRandomBlock - 1) / kernels::kRandomBlock * (kernels::kRandomBlock / 4);
  task.seed = random.seed();
  task.sample = random.sample();
}

}  // namespace torchdali
