// SPDX-License-Identifier: Apache-2.0
// Kernels whose threads cooperate in blocks. A class with a type `Shared` is one:
//
//   struct SumOfBlocks : Kernel<SumTask> {
//     static constexpr int kThreads = 128;
//     struct Shared {
//       float values[kThreads];
//     };
//     TORCHDALI_HOST_DEVICE int phases() const { return 2; }
//     TORCHDALI_HOST_DEVICE void operator()(int64_t block, int phase, int thread,
//                                           Shared& shared) const {
//       if (phase == 0) shared.values[thread] = load(block, thread);
//       else if (thread == 0) store(block, sum_of(shared.values));
//     }
//   };
//
// A task's `size` is its number of blocks. The call operator is what one thread does in one phase.
// All threads of a block finish a phase before any of them begins the next one, so what a thread
// writes to shared memory, others may read in later phases. In one phase, no thread reads what
// another one writes. Between phases, threads keep nothing.
//
// A kernel may need more shared memory than sizeof(Shared), depending on the task:
//
//   static int64_t shared_bytes(const Task& task);
//
// The emulation runs the threads of a phase one by one, in an order that changes from phase to
// phase and from block to block, on shared memory that no block finds as another one left it.
#pragma once

#include <cstdint>

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

template <class K>
concept BlockKernel = requires { typename K::Shared; };

// That every GPU has for each block.
inline constexpr int64_t kCommonSharedBytes = 48 << 10;
// That a kernel may use. The GPU needs compute capability 8.0 or higher for more than 64 KB.
inline constexpr int64_t kMaxSharedBytes = 96 << 10;

// The bytes of shared memory that a task needs.
template <class K>
int64_t shared_bytes([[maybe_unused]] const typename K::Task& task) {
  if constexpr (requires { K::shared_bytes(task); }) return K::shared_bytes(task);
  else if constexpr (BlockKernel<K>) return sizeof(typename K::Shared);
  else return 0;
}

}  // namespace torchdali::gpu
