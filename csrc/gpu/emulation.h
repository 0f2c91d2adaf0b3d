// SPDX-License-Identifier: Apache-2.0
// Kernels as loops on the host. Included by generated files, before a header with kernels.
#pragma once

#include "gpu/registry.h"

namespace torchdali::gpu {
namespace {

template <class K>
int launch(const void* tasks, int count, int64_t /*max_size*/, const void* blob, void* /*stream*/) {
  const auto* all = static_cast<const typename K::Task*>(tasks);
  for (int t = 0; t < count; ++t) {
    const K kernel{{all[t], blob}};
    for (int64_t i = 0, calls = count_calls<K>(all[t].size); i < calls; ++i) kernel(i);
  }
  return 0;
}

}  // namespace
}  // namespace torchdali::gpu

#undef TORCHDALI_REGISTER_KERNEL
#define TORCHDALI_REGISTER_KERNEL(kernel) TORCHDALI_DEFINE_KERNEL_REGISTRATION(kernel)
