// SPDX-License-Identifier: Apache-2.0
// Several operators over one image, run as one: only the pixels that the result needs are made, and
// those some rows at a time, which stay in the cache from one operator to the next. The result is
// that of the operators one after the other, to the bit. See docs/design/fusion.md.
#pragma once

#include <memory>

#include "executor/graph/graph.h"

namespace torchdali {

class Operator;

// `node` has members; `spec` is made from it. Errors name the member that failed.
std::unique_ptr<Operator> make_chain(const Node& node, const OpSpec& spec);

}  // namespace torchdali
