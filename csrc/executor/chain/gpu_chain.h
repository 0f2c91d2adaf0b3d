// SPDX-License-Identifier: Apache-2.0
// Several GPU operators over one image that run as one: one kernel for the samples of a batch that
// fit. The result is bit-identical to running the operators one by one. docs/design/fusion.md.
#pragma once

#include <memory>

#include "executor/graph/graph.h"

namespace torchdali {

class Operator;

// The operator of `node`, which has members on the GPU; `spec` is its spec. Errors name the
// member that failed.
std::unique_ptr<Operator> make_gpu_chain(const Node& node, const OpSpec& spec);

}  // namespace torchdali
