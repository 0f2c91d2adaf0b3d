// SPDX-License-Identifier: Apache-2.0
// Memory of the engine as tensors of torch.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "core/batch.h"

namespace torchdali {

at::ScalarType to_scalar_type(DType dtype);
// Raises kType for types that DALI does not have (bfloat16, complex, ...).
DType from_scalar_type(at::ScalarType type);

// The tensor keeps its memory.
at::Tensor to_tensor(const BatchTensor& tensor);
std::vector<at::Tensor> to_tensors(const Batch& batch);
// The same for memory of the host that `owner` keeps.
at::Tensor to_tensor(const SampleView& view, std::shared_ptr<const void> owner);

}  // namespace torchdali
