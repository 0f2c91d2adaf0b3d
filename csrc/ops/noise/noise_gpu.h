// SPDX-License-Identifier: Apache-2.0
// What the tasks of all noise have in common.
#pragma once

#include "gpu/operator.h"
#include "kernels/noise/random_block.h"

namespace torchdali {

// `out` is the output that was made of input 0; `count`: its elements or pixels, a word each.
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
