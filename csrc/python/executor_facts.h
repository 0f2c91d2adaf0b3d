// SPDX-License-Identifier: Apache-2.0
// What an executor measures, as dictionaries.
#pragma once

#include "executor/run/executor.h"
#include "python/bind.h"

namespace torchdali {

// For torchdali/pipeline/_counters.py.
nb::dict measure_facts(const Executor& executor);
// By operator, for each output (real, largest real, reserved, largest reserved) bytes.
nb::dict memory_facts(const Executor& executor);

}  // namespace torchdali
