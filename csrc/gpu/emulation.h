// SPDX-License-Identifier: Apache-2.0
// Kernels as loops on the host. Included by generated files, before a header with kernels.
#pragma once

#include <cstring>
#include <memory>

#include "gpu/registry.h"

namespace torchdali::gpu {
namespace {

// One block. Each phase has another order of the threads, so that a result that depends on the
// order, which a GPU does not have, is soon a wrong one.
template <BlockKernel K>
void run_block(const K& kernel, int64_t block, std::byte* memory, size_t bytes) {
  static_assert((K::kThreads & (K::kThreads - 1)) == 0);
  constexpr uint32_t kFactors[] = {1, K::kThreads - 1, 5, K::kThreads - 11};
  std::memset(memory, 0xFF, bytes);  // NaN
  auto& shared = *reinterpret_cast<typename K::Shared*>(memory);
  for (int phase = 0, phases = kernel.phases(); phase < phases; ++phase) {
    const auto order = static_cast<uint32_t>(block) + static_cast<uint32_t>(phase);
    for (uint32_t i = 0; i < K::kThreads; ++i) {
      const uint32_t thread = (i * kFactors[order % 4] + order / 4) % K::kThreads;
      kernel(block, phase, static_cast<int>(thread), shared);
    }
  }
}

template <class K>
void run(const K& kernel, [[maybe_unused]] const LaunchSize& size) {
  if constexpr (BlockKernel<K>) {
    // Exactly what the task needs, so that ASan sees what is beyond.
    const auto bytes = static_cast<size_t>(shared_bytes<K>(kernel.task));
    TORCHDALI_KERNEL_CHECK(bytes <= static_cast<size_t>(size.shared_bytes) &&
                           size.shared_bytes <= kMaxSharedBytes);
    const auto memory = std::make_unique<std::byte[]>(bytes);
    for (int64_t block = 0; block < kernel.task.size; ++block)
      run_block(kernel, block, memory.get(), bytes);
  } else {
    for (int64_t i = 0, calls = count_calls<K>(kernel.task.size); i < calls; ++i) kernel(i);
  }
}

template <class K>
int launch(const void* tasks, const LaunchSize& size, const void* blob, void* /*stream*/) {
  const auto* all = static_cast<const typename K::Task*>(tasks);
  for (int t = 0; t < size.tasks; ++t) run(K{{all[t], blob}}, size);
  return 0;
}

}  // namespace
}  // namespace torchdali::gpu

#undef TORCHDALI_REGISTER_KERNEL
#define TORCHDALI_REGISTER_KERNEL(kernel) TORCHDALI_DEFINE_KERNEL_REGISTRATION(kernel)
