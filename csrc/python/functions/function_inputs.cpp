// SPDX-License-Identifier: Apache-2.0
#include "python/functions/function_inputs.h"

#include <cstring>

#include "python/functions/callbacks.h"

namespace torchdali {

void InputCheck::add(const SampleView& view, int input, int sample) {
  const auto* bytes = view.as<const char>();
  kept_.push_back({view, input, sample, {bytes, bytes + view.size_bytes()}, {}});
}

void InputCheck::add(const nb::object& tensor, int input, int sample) {
  kept_.push_back({{}, input, sample, {}, callback("_watch_tensor")(tensor)});
}

void InputCheck::verify() const {
  for (const Kept& k : kept_) {
    const bool same =
        k.unchanged.is_valid()
            ? nb::cast<bool>(k.unchanged())
            : k.bytes.empty() || std::memcmp(k.bytes.data(), k.view.data, k.bytes.size()) == 0;
    if (same) continue;
    Error error(ErrorKind::kRuntime,
                str_cat("the function modified its input ", k.input, ", which others may read"),
                "copy it before writing to it");
    error.set_sample(k.sample);
    throw error;
  }
}

DeviceInputs::DeviceInputs(ValueKind kind, const BatchContext& ctx) : kind_(kind) {
  std::vector<BatchTensor> samples(static_cast<size_t>(ctx.size()));
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Batch* batch = ctx.input_batch(i);
    TORCHDALI_ASSERT(batch != nullptr, "");
    for (int k = 0; k < ctx.size(); ++k)
      samples[static_cast<size_t>(k)] = batch->tensor(ctx.index_in_batch(k));
    const nb::list made = to_tensors(samples);
    auto& of_input = tensors_.emplace_back(static_cast<size_t>(ctx.batch_size()));
    for (int k = 0; k < ctx.size(); ++k)
      of_input[static_cast<size_t>(ctx.index_in_batch(k))] = made[static_cast<size_t>(k)];
  }
}

}  // namespace torchdali
