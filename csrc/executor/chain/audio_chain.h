// SPDX-License-Identifier: Apache-2.0
// Several operators over one clip of audio that run as one, without whole signals or spectrograms
// between them. The result is bit-identical to running the operators one by one.
// docs/design/audio.md.
#pragma once

#include <memory>

#include "executor/graph/graph.h"

namespace torchdali {

class Operator;

// The operator of `node`, whose members have audio roles; `spec` is its spec. Errors name the
// member that failed.
std::unique_ptr<Operator> make_audio_chain(const Node& node, const OpSpec& spec);

}  // namespace torchdali
