// SPDX-License-Identifier: Apache-2.0
// Rewrites: pairs of nodes that one operator does for less work, with the same result to the bit.
#pragma once

#include "executor/graph.h"

namespace torchdali {

// Fuses what can be fused; see docs/design/fusion.md. `graph` was verified.
Graph rewrite(Graph graph);

}  // namespace torchdali
