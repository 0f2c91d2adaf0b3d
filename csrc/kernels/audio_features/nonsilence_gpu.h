// SPDX-License-Identifier: Apache-2.0
// fn.nonsilent_region on the GPU, in launches for the sums of blocks, the greatest sum of windows
// (of each block, then of all), the windows of each block that are not silent, and the region.
#pragma once

#include "kernels/audio_features/nonsilence.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// Pointers are in the workspace.
struct NonsilenceTask : TaskBase {
  DType dtype = DType::kNone;
  kernels::MovingPower power;
  kernels::SilenceLevel level;
  const double* sums = nullptr;      // of each block, then the suffix of each sample
  const double* greatest = nullptr;  // of each block, then that of all
  const int64_t* ends = nullptr;     // of each block: the first and the last end of a window
  bool length = false;               // of the region, not its begin

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(sums);
    fn(greatest);
    fn(ends);
  }
};

struct NonsilenceKernel : Kernel<NonsilenceTask> {
  TORCHDALI_HOST_DEVICE double suffix(int64_t i) const {
    return task.sums[task.power.blocks() + i];
  }
  TORCHDALI_HOST_DEVICE float sample(int64_t i) const { return load_float(task.in, task.dtype, i); }
};

struct BlockSumsKernel : NonsilenceKernel {
  TORCHDALI_HOST_DEVICE void operator()(int64_t b) const {
    const int64_t begin = task.power.begin_of(b);
    auto* sums = static_cast<double*>(task.out);
    sums[b] = kernels::sum_of_squares(task.power.end_of(b) - begin,
                                      [&](int64_t i) { return sample(begin + i); });
    if (task.power.is_short()) return;
    double* suffixes = sums + task.power.blocks();
    kernels::visit_suffixes(
        task.power, b, [&](int64_t i) { return sample(i); },
        [&](int64_t i, double sum) { suffixes[i] = sum; });
  }
};
TORCHDALI_GPU_KERNEL(BlockSumsKernel)

struct GreatestWindowsKernel : NonsilenceKernel {
  TORCHDALI_HOST_DEVICE void operator()(int64_t b) const {
    double most = 0;
    kernels::visit_windows(
        task.power, b, task.sums, [&](int64_t i) { return sample(i); },
        [&](int64_t i) { return suffix(i); },
        [&](int64_t, double sum) { most = sum > most ? sum : most; });
    static_cast<double*>(task.out)[b] = most;
  }
};
TORCHDALI_GPU_KERNEL(GreatestWindowsKernel)

// One thread.
struct GreatestWindowKernel : NonsilenceKernel {
  TORCHDALI_HOST_DEVICE void operator()(int64_t /*i*/) const {
    double most = 0;
    for (int64_t b = 0; b < task.power.blocks(); ++b)
      most = task.greatest[b] > most ? task.greatest[b] : most;
    *static_cast<double*>(task.out) = most;
  }
};
TORCHDALI_GPU_KERNEL(GreatestWindowKernel)

struct NonsilentEndsKernel : NonsilenceKernel {
  TORCHDALI_HOST_DEVICE void operator()(int64_t b) const {
    const double reference = task.level.reference > 0
                                 ? task.level.reference * static_cast<double>(task.power.window)
                                 : task.greatest[task.power.blocks()];
    const double least = reference * task.level.ratio;
    int64_t first = -1, last = -1;
    kernels::visit_windows(
        task.power, b, task.sums, [&](int64_t i) { return sample(i); },
        [&](int64_t i) { return suffix(i); },
        [&](int64_t i, double sum) {
          if (!(sum >= least)) return;
          if (first < 0) first = i;
          last = i;
        });
    static_cast<int64_t*>(task.out)[2 * b] = first;
    static_cast<int64_t*>(task.out)[2 * b + 1] = last;
  }
};
TORCHDALI_GPU_KERNEL(NonsilentEndsKernel)

// One thread.
struct NonsilentRegionKernel : NonsilenceKernel {
  TORCHDALI_HOST_DEVICE void operator()(int64_t /*i*/) const {
    int64_t first = -1, last = -1;
    for (int64_t b = 0; b < task.power.blocks(); ++b) {
      if (task.ends[2 * b] < 0) continue;
      if (first < 0) first = task.ends[2 * b];
      last = task.ends[2 * b + 1];
    }
    const auto region = kernels::region_of(first, last, task.power.window);
    *static_cast<int32_t*>(task.out) =
        static_cast<int32_t>(task.length ? region.length : region.begin);
  }
};
TORCHDALI_GPU_KERNEL(NonsilentRegionKernel)

}  // namespace torchdali::gpu
