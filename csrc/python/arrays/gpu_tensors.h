// SPDX-License-Identifier: Apache-2.0
// Memory of torch's allocators as tensors of torch, in torch's own storage, so that
// Tensor.record_stream() works on them. All functions need the GIL.
#pragma once

#include <Python.h>

#include <span>

#include "core/batch.h"

namespace torchdali {

// A new list of tensors, which keep their memory. Null if a Python exception is set.
PyObject* to_python_tensors(std::span<const BatchTensor> tensors);

// Tells torch that the calling thread's current stream uses memory of a GPU, which Python now has.
// Returns false if a Python exception is set.
[[nodiscard]] bool use_on_current_stream(std::span<const Storage> memory);

}  // namespace torchdali
