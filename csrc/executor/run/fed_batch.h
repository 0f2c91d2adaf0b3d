// SPDX-License-Identifier: Apache-2.0
// FedBatch: a batch of the user's data for an external source of an iteration.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/source.h"
#include "executor/graph/graph.h"
#include "executor/run/bad_samples.h"
#include "executor/run/execution_plan.h"

namespace torchdali {

struct FedBatch {
  std::string name;  // of the operator
  std::unique_ptr<ExternalBatch> batch;
  // Samples that the user's code failed to make, and why. What the batch has for them is not used.
  std::map<int, Error> failed;
  // In place of a sample: all of them. The batch has the size of the others of the iteration then.
  static constexpr int kAllSamples = -1;
  bool all_failed() const { return failed.count(kAllSamples) > 0; }
};

// Adds the samples of `fed`, for the external source `node`, that failed. Another source may have
// failed for them too.
void add_failed(const FedBatch& fed, const Node& node, int batch_size, BadSamples& bad);

// ExternalSource::divide() of the source with this name. Errors name it.
std::shared_ptr<const FedData> divide(const ExecutionPlan& plan, const std::string& name,
                                      std::unique_ptr<ExternalBatch> fed);

// Gives a batch without data the size of the others, which is not larger.
void set_size(ExternalBatch& batch, int size);

}  // namespace torchdali
