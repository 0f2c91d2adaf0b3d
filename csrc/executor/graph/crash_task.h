// SPDX-License-Identifier: Apache-2.0
// What the report of a crash says about a node.
#pragma once

#include <string>

#include "core/threads/crash_report.h"
#include "executor/graph/graph.h"

namespace torchdali {

crash::Task crash_task(const Node& node);

}  // namespace torchdali
