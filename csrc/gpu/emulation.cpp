// SPDX-License-Identifier: Apache-2.0
#include "gpu/emulation.h"

namespace torchdali::gpu {

const KernelLibrary& emulated_library() {
  static const KernelLibrary library{
      .sources = kKernelSources,
      .kernels = registered_kernels,
      .error_text = [](int) { return "an error of the emulation"; },
  };
  return library;
}

}  // namespace torchdali::gpu
