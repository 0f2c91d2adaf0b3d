// SPDX-License-Identifier: Apache-2.0
// An input of a batch-wide operator: the samples of the whole batch, which run() may return or
// read.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"

namespace torchdali {

// Sample k is the k-th of those that run the operator.
struct WholeBatch final : BatchState {
  std::vector<SampleView> samples;
  std::vector<int> positions;  // of a sample of the batch in `samples`
  std::vector<int> indices;    // in the batch, of each of `samples`
  std::shared_ptr<const void> owner;
  std::shared_ptr<SampleNames> names;  // of the outputs; null if the samples have none

  static std::unique_ptr<WholeBatch> of(BatchContext& ctx, int input) {
    auto batch = std::make_unique<WholeBatch>();
    batch->owner = ctx.input_owner(input);
    batch->positions.resize(static_cast<size_t>(ctx.batch_size()), -1);
    for (int k = 0; k < ctx.size(); ++k) {
      batch->samples.push_back(ctx.input(input, k));
      batch->indices.push_back(ctx.index_in_batch(k));
      batch->positions[static_cast<size_t>(ctx.index_in_batch(k))] = k;
    }
    if (const auto of_inputs = ctx.names()) {
      batch->names = std::make_shared<SampleNames>(of_inputs);
      ctx.set_names(batch->names);
    }
    return batch;
  }
  // The current sample is made from these samples, which sample() accepts.
  void set_parts(const SampleContext& ctx, std::span<const int64_t> numbers) const {
    if (names == nullptr) return;
    static thread_local std::vector<int> parts;
    parts.clear();
    for (const int64_t number : numbers) parts.push_back(indices[static_cast<size_t>(number)]);
    names->set_parts(ctx.index_in_batch(), parts);
  }
  // `argument`: the name of the argument with the number, for errors.
  const SampleView& sample(int64_t number, const char* argument) const {
    TORCHDALI_CHECK_KIND(kIndex, number >= 0 && number < static_cast<int64_t>(samples.size()), "`",
                         argument, "` has ", number, ", and the batch ", samples.size(),
                         " samples");
    return samples[static_cast<size_t>(number)];
  }
};

}  // namespace torchdali
