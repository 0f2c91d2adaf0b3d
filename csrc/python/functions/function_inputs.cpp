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

}  // namespace torchdali
