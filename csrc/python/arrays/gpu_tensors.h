// SPDX-License-Identifier: Apache-2.0
// Memory of torch's allocators as tensors of torch, in torch's own storage, so that
// Tensor.record_stream() works on them.
#pragma once

#include <Python.h>

#include <span>

#include "core/batch.h"

namespace torchdali {

// A new list of tensors, which keep their memory. Tells torch that the calling thread's current
// stream uses memory of a GPU. Needs the GIL, and may release it meanwhile. Null if a Python
// exception is set.
PyObject* to_python_tensors(std::span<const BatchTensor> tensors);

}  // namespace torchdali
