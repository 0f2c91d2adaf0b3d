// SPDX-License-Identifier: Apache-2.0
// Several GPU operators over one clip of audio that run as one: one kernel, or two, for the samples
// of a batch that fit. docs/design/audio.md.
#pragma once

#include <memory>

#include "executor/graph/graph.h"

namespace torchdali {

class Operator;

// The operator of `node`, which has members on the GPU with audio roles; `spec` is its spec. Errors
// name the member that failed.
std::unique_ptr<Operator> make_gpu_audio_chain(const Node& node, const OpSpec& spec);

}  // namespace torchdali
