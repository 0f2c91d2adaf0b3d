// SPDX-License-Identifier: Apache-2.0
// Sequences: runs an operator of single frames over the frames of a sample, each with its own
// values of per-frame arguments.
#pragma once

#include <memory>

#include "core/operator.h"

namespace torchdali {

// `op` as it is, where it takes no sequences.
std::unique_ptr<Operator> over_frames(std::unique_ptr<Operator> op, const OpSpec& spec);

}  // namespace torchdali
