// SPDX-License-Identifier: Apache-2.0
// An execution plan as dictionaries, for torchdali/pipeline/_explain.py.
#pragma once

#include "executor/run/execution_plan.h"
#include "python/bind.h"

namespace torchdali {

// The steps in the order in which they run. _explain.py documents the keys.
nb::list plan_facts(const ExecutionPlan& plan);

}  // namespace torchdali
