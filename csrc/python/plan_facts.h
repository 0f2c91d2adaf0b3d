// SPDX-License-Identifier: Apache-2.0
// What a plan says about itself, for torchdali/_plan_facts.py.
#pragma once

#include "executor/plan.h"
#include "python/bind.h"

namespace torchdali {

// The steps in the order in which they run; see _plan_facts.py for the keys.
py::list plan_facts(const Plan& plan);

}  // namespace torchdali
