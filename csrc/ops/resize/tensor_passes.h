// SPDX-License-Identifier: Apache-2.0
// The resampling of any axes of a tensor, as passes of the kernel for three axes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/resample/resample.h"

namespace torchdali {

// An axis of a tensor; `kept`: it stays as it is, and of `axis` only `in` and `out` are used.
struct TensorAxis {
  kernels::ResampleAxis axis;
  bool kept = true;
};

// Neighbors that stay as they are count as one axis. If what is left has at most three axes from
// the first that changes to the last, one pass does all; otherwise each pass takes up to three
// axes, the one that shrinks the tensor most first, and results between passes are float32. Each
// pass is dense. No pass if the result is empty; at least one otherwise.
std::vector<kernels::ResampleJob> tensor_passes(std::span<const TensorAxis> axes, DType in,
                                                DType out);

// Elements of the result of a pass.
int64_t pass_volume(const kernels::ResampleJob& job);

}  // namespace torchdali
