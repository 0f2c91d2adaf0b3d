// SPDX-License-Identifier: Apache-2.0
// Sequences: runs an operator for each frame of a sample, with the values that per-frame arguments
// have for the frame.
#pragma once

#include <memory>

#include "core/operator.h"

namespace torchdali {

// Returns `op` itself if it needs no loop.
std::unique_ptr<Operator> over_frames(std::unique_ptr<Operator> op, const OpSpec& spec);

}  // namespace torchdali
