// SPDX-License-Identifier: Apache-2.0
// How a kernel is found: by its name, in the library of emulated kernels, which is part of the
// engine, or in the library of CUDA kernels, torchdali/_cuda.so. Each kernel registers itself where
// its generated file is linked (TORCHDALI_GPU_KERNEL).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/block.h"

namespace torchdali::gpu {

// The tasks of a launch: how many, the largest `size` of one, and the most shared memory.
struct LaunchSize {
  int tasks = 0;
  int64_t max_size = 0;
  int64_t shared_bytes = 0;
};

// Queues a kernel on `stream`. `tasks` and `blob` are device memory. Returns 0 or an error number.
using LaunchFn = int (*)(const void* tasks, const LaunchSize& size, const void* blob, void* stream);

struct KernelId {
  const char* name;
  size_t task_bytes;
};
template <class K>
constexpr KernelId kernel_id() {
  return {KernelName<K>::kValue, sizeof(typename K::Task)};
}

struct KernelEntry {
  KernelId id;
  LaunchFn launch;
  const KernelEntry* next;
};

// Of this library, in a generated file.
extern const char* const kKernelSources;
// The kernels that are linked into this library.
inline const KernelEntry* registered_kernels = nullptr;

// A variable of namespace scope.
class KernelRegistration {
 public:
  KernelRegistration(KernelId id, LaunchFn launch) : entry_{id, launch, registered_kernels} {
    registered_kernels = &entry_;
  }
  KernelRegistration(const KernelRegistration&) = delete;
  KernelRegistration& operator=(const KernelRegistration&) = delete;

 private:
  KernelEntry entry_;
};

}  // namespace torchdali::gpu

// For the headers that turn kernels into functions, which define a function template launch<K>().
#define TORCHDALI_DEFINE_KERNEL_REGISTRATION(kernel)                                  \
  namespace {                                                                         \
  const KernelRegistration registered_##kernel{kernel_id<kernel>(), &launch<kernel>}; \
  }
