// SPDX-License-Identifier: Apache-2.0
// Operations on numbers that several threads change at the same time.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

TORCHDALI_HOST_DEVICE inline void add_atomically(uint32_t* to, uint32_t n) {
#ifdef __CUDA_ARCH__
  atomicAdd(to, n);
#else
  *to += n;  // the emulation runs in one thread
#endif
}

}  // namespace torchdali::gpu
