// SPDX-License-Identifier: Apache-2.0
// NumPy arrays: views of their memory, and arrays made of the engine's memory. By the table of
// functions that NumPy exports for C, since nothing else is fast enough for each call of a
// function. All functions need the GIL.
#pragma once

#include <optional>

#include "python/arrays/torch_tensors.h"
#include "python/bind.h"

namespace torchdali {

// Of an array; nullopt if the object is none, or one that a view cannot express: of another byte
// order, of an element type that DALI does not have, or with strides between elements.
std::optional<ArrayView> view_array(nb::handle object);
// An array of memory that `owner` keeps.
nb::object to_array(const SampleView& view, nb::handle owner);

}  // namespace torchdali
