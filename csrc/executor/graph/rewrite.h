// SPDX-License-Identifier: Apache-2.0
// Rewrites: nodes that run as one for less work, with the same result to the bit.
#pragma once

#include "executor/graph/graph.h"

namespace torchdali {

// Fuses what can be fused; see docs/design/fusion.md. `graph` was verified.
Graph rewrite(Graph graph);
// The same for chains on the GPU; behind split_mixed_decoders().
Graph rewrite_on_gpu(Graph graph);

}  // namespace torchdali
