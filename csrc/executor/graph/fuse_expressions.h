// SPDX-License-Identifier: Apache-2.0
// Steps of an expression that only the expression uses become one operator, which runs them tile by
// tile; see docs/design/expressions.md.
#pragma once

#include "executor/graph/graph.h"

namespace torchdali {

// `graph` was verified.
Graph fuse_expressions(Graph graph);

}  // namespace torchdali
