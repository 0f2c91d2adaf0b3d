// SPDX-License-Identifier: Apache-2.0
// The graph of a pipeline, as torchdali/pipeline/_compile.py passes it.
#pragma once

#include <string_view>

#include "executor/graph/graph.h"
#include "python/bind.h"

namespace torchdali {

// "raise", "skip" or "replace".
OnError on_error_of(std::string_view name);
// `nodes`: dictionaries, as _compile.engine_node() returns them. `outputs`: (node, output) pairs.
Graph to_graph(const nb::list& nodes, const nb::list& outputs);

}  // namespace torchdali
