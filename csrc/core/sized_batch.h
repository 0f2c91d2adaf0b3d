// SPDX-License-Identifier: Apache-2.0
// A batch of a source that knows how large its samples are.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operator.h"

namespace torchdali {

struct SizedBatch : SourceBatch {
  // In any unit, where that tells how long a sample takes: the largest ones are begun first. Empty:
  // not known.
  std::vector<uint32_t> sizes;
};

}  // namespace torchdali
