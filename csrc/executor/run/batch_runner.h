// SPDX-License-Identifier: Apache-2.0
// Runs the batch stages of a plan: Operator::prepare_batch().
#pragma once

#include "executor/run/sample_runner.h"

namespace torchdali {
namespace gpu {
class Device;
}

// Any thread. Called once for each stage of an iteration. Throws OperatorError. `device`: null if
// the plan uses no GPU. `worker`: whose meter counts the time; for operators on the GPU, that is
// the time to queue the work.
void run_batch_stage(const ExecutionPlan& plan, IterationData& iteration, int stage,
                     gpu::Device* device, Meters& meters, int worker);

}  // namespace torchdali
