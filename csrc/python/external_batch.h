// SPDX-License-Identifier: Apache-2.0
// Batches that the user passes to an external source.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "core/source.h"
#include "python/bind.h"

namespace torchdali {

// The owner of the memory of an ExternalBatch: one tensor per sample or, if `whole`, one tensor.
struct ExternalTensors {
  std::vector<at::Tensor> tensors;
  bool whole = false;
};

// `data`: a list of tensors, or one whose first axis is the samples. Tensors that are not
// contiguous are copied. `source_names`: of the samples, for errors; may be empty.
std::unique_ptr<ExternalBatch> to_external_batch(const py::object& data,
                                                 const std::string& layout_letters,
                                                 const std::vector<std::string>& source_names);

}  // namespace torchdali
