// SPDX-License-Identifier: Apache-2.0
// Several operators over one image that run as one: only the pixels that the result needs are
// decoded and resampled. The result is bit-identical to running the operators one by one.
// docs/design/fusion.md.
#pragma once

#include <memory>

#include "executor/graph/graph.h"

namespace torchdali {

class Operator;

// The operator of `node`, which has members; `spec` is its spec. Errors name the member that
// failed.
std::unique_ptr<Operator> make_chain(const Node& node, const OpSpec& spec);

}  // namespace torchdali
