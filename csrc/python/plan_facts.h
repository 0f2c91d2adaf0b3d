// SPDX-License-Identifier: Apache-2.0
// What a plan says about itself, for torchdali/pipeline/_explain.py.
#pragma once

#include "executor/run/plan.h"
#include "python/bind.h"

namespace torchdali {

// The steps in the order in which they run; see torchdali/pipeline/_explain.py for the keys.
py::list plan_facts(const Plan& plan);

}  // namespace torchdali
