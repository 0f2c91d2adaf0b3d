// SPDX-License-Identifier: Apache-2.0
// Where the memory of a batch lies.
#pragma once

#include <cstdint>

namespace torchdali {

enum class Place : int8_t {
  kHost,
  kPinned,  // the device copies from it without the host's help
  kDevice,  // allocated on torch's current stream; the host reads and writes none of it
};

}  // namespace torchdali
