// SPDX-License-Identifier: Apache-2.0
// Lookups in a table on the GPU, by integers of any type.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// The entry of the table whose index the element is, or the last entry where there is no such
// index.
struct LookupTask : TypedTask {
  int64_t entries = 0;   // without the last one
  BlobOffset table = 0;  // [entries + 1] of the output's type
};
struct LookupKernel : Kernel<LookupTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t size = size_of(task.out_dtype);
    with_type(task.in_dtype, [&]<class T>() {
      if constexpr (!is_floating_type<T>) {
        // Negative indices become large ones.
        const auto key = static_cast<uint64_t>(static_cast<const T*>(task.in)[i]);
        const auto end = static_cast<uint64_t>(task.entries);
        const auto entry = static_cast<int64_t>(key < end ? key : end);
        store_bytes(task.out, size, i, load_bytes(list<char>(task.table), size, entry));
      }
    });
  }
};
TORCHDALI_GPU_KERNEL(LookupKernel)

}  // namespace torchdali::gpu
