// SPDX-License-Identifier: Apache-2.0
// The values that a user's function returned for the samples of a batch.
#pragma once

#include <memory>
#include <vector>

#include "core/sample_context.h"
#include "python/functions/values.h"

namespace torchdali {

// What a function returned for the samples of a batch, and the owners of its inputs.
struct FunctionResults final : BatchState {
  FunctionResults(int outputs, int batch_size) : views(static_cast<size_t>(outputs)) {
    for (auto& of_output : views) of_output.resize(static_cast<size_t>(batch_size));
  }
  // NOLINTNEXTLINE(bugprone-exception-escape): only if Python itself is broken
  ~FunctionResults() override {
    if (!Py_IsInitialized()) {
      for (auto& of_output : views)
        for (auto& v : of_output) (void)v.owner.release();
      return;
    }
    const nb::gil_scoped_acquire gil;
    views.clear();
  }
  FunctionResults(const FunctionResults&) = delete;
  FunctionResults& operator=(const FunctionResults&) = delete;

  int gpu = -1;                                     // where the results are; -1: on the host
  std::vector<std::vector<ForeignView>> views;      // [output][index in the batch]
  std::vector<std::shared_ptr<const void>> owners;  // of the inputs, if run() calls the function
};

}  // namespace torchdali
