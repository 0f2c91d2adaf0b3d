// SPDX-License-Identifier: Apache-2.0
// Tensors of torch: views of their memory, and tensors made of the engine's memory. Uses no
// interface of torch in C++ (docs/design/packaging.md). All functions need the GIL.
#pragma once

#include <memory>
#include <span>

#include "core/batch.h"
#include "python/arrays/dlpack.h"
#include "python/bind.h"

namespace torchdali {

// An array of Python. `view` has its shape and type; `strides` are in elements.
struct ArrayView {
  SampleView view;
  Shape strides;
  bool packed = true;
  int gpu = -1;  // -1: memory of the host
};

bool is_tensor(nb::handle object);
// Whether the values of a tensor of this type differ in sign from those in its memory (a part of a
// conjugate). A view does not tell.
bool is_negated(nb::handle tensor, DType dtype);
// Of a strided tensor, while it exists. Raises kType for element types that DALI does not have
// (bfloat16, complex, ...). Does not check whether the extents of an empty tensor are too large.
ArrayView view_tensor(nb::handle tensor);

// A tensor of host memory that `owner` keeps.
nb::object to_tensor(const SampleView& view, std::shared_ptr<const void> owner);
// A tensor that keeps its memory.
nb::object to_tensor(const BatchTensor& tensor);
nb::list to_tensors(std::span<const BatchTensor> tensors);
// The samples of a batch.
nb::list to_tensors(const Batch& batch);

}  // namespace torchdali
