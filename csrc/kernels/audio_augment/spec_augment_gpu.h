// SPDX-License-Identifier: Apache-2.0
// Masks of spectrograms on the GPU.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

struct MaskedRange {
  int64_t begin = 0, end = 0;
};

// The input, [size / columns, columns] floats, with other values in some rows and columns.
struct SpecAugmentTask : TaskBase {
  int64_t columns = 1;
  int row_masks = 0, column_masks = 0;
  BlobOffset masks = 0;  // MaskedRange, those of rows first
  float value = 0;
  const void* sum = nullptr;  // of all elements, whose mean is the value then

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(sum);
  }
};
struct SpecAugmentKernel : Kernel<SpecAugmentTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const int64_t column = index.axis(task.columns), row = index.rest();
    const MaskedRange* masks = list<MaskedRange>(task.masks);
    bool masked = false;
    for (int m = 0; m < task.row_masks; ++m)
      masked = masked || (row >= masks[m].begin && row < masks[m].end);
    masks += task.row_masks;
    for (int m = 0; m < task.column_masks; ++m)
      masked = masked || (column >= masks[m].begin && column < masks[m].end);
    float value = static_cast<const float*>(task.in)[i];
    if (masked) value = masked_value();
    static_cast<float*>(task.out)[i] = value;
  }

 private:
  TORCHDALI_HOST_DEVICE float masked_value() const {
    if (task.sum == nullptr) return task.value;
    return static_cast<float>(*static_cast<const double*>(task.sum) /
                              static_cast<double>(task.size));
  }
};
TORCHDALI_GPU_KERNEL(SpecAugmentKernel)

}  // namespace torchdali::gpu
