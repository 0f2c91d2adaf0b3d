// SPDX-License-Identifier: Apache-2.0
// Runs the stages of a plan that see a whole batch: Operator::prepare_batch().
#pragma once

#include "executor/run/sample_runner.h"

namespace torchdali {

// Any thread; one stage of one iteration is run once. Throws OperatorError. `device`: where the
// plan uses one. `worker`: which adds up how long it takes; of operators on the GPU it is the time
// to queue the work.
void run_batch_stage(const Plan& plan, IterationData& iteration, int stage, gpu::Device* device,
                     Meters& meters, int worker);

}  // namespace torchdali
