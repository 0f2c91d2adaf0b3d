// SPDX-License-Identifier: Apache-2.0
// Several GPU operators over one image, run as one: one kernel for the samples of a batch that fit.
// The result is that of the operators one after the other, to the bit. docs/design/fusion.md.
#pragma once

#include <memory>

#include "executor/graph/graph.h"

namespace torchdali {

class Operator;

// The batch stage of `node`, which has members that run on the GPU; `spec` is made from it. Errors
// name the member that failed.
std::unique_ptr<Operator> make_gpu_chain(const Node& node, const OpSpec& spec);

}  // namespace torchdali
