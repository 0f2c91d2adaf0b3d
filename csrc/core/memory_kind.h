// SPDX-License-Identifier: Apache-2.0
// MemoryKind: the kind of memory of a batch.
#pragma once

#include <cstdint>

namespace torchdali {

enum class MemoryKind : int8_t {
  kHost,
  kPinned,  // host memory that the device copies from without the CPU
  kDevice,  // allocated on torch's current stream; never accessed by the host
};

}  // namespace torchdali
