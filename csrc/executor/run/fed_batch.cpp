// SPDX-License-Identifier: Apache-2.0
#include "executor/run/fed_batch.h"

#include <utility>

#include "executor/graph/operator_error.h"

namespace torchdali {

void add_failed(const FedBatch& fed, const Node& node, int batch_size, BadSamples& bad) {
  const auto add = [&](int sample, const Error& cause) {
    TORCHDALI_ASSERT(sample >= 0 && sample < batch_size, "");
    if (bad.contains(sample)) return;
    OperatorError error(cause, node);
    TORCHDALI_ASSERT(error.on_error != OnError::kRaise, "");
    error.sample = sample;
    error.batch_size = batch_size;
    bad.add(error);
  };
  for (const auto& [sample, cause] : fed.failed) {
    if (sample != FedBatch::kAllSamples) add(sample, cause);
    else
      for (int i = 0; i < batch_size; ++i) add(i, cause);
  }
}

std::shared_ptr<const FedData> divide(const ExecutionPlan& plan, const std::string& name,
                                      std::unique_ptr<ExternalBatch> fed) {
  for (const int n : plan.sources) {
    const Node& node = plan.graph.nodes[static_cast<size_t>(n)];
    const auto* source =
        dynamic_cast<const ExternalSource*>(plan.operators[static_cast<size_t>(n)].get());
    if (node.name != name || source == nullptr) continue;
    auto data = with_operator_errors(node, [&] { return source->divide(std::move(fed)); });
    TORCHDALI_ASSERT(data != nullptr, name);
    return data;
  }
  raise(ErrorKind::kRuntime, "there is no source `", name, "` that is fed");
}

void set_size(ExternalBatch& batch, int size) {
  TORCHDALI_ASSERT(batch.size >= size, "");
  batch.size = size;
  batch.samples.resize(static_cast<size_t>(size));
}

}  // namespace torchdali
