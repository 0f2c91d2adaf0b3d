// SPDX-License-Identifier: Apache-2.0
// Conversion of samples to the arguments of a Python function (NumPy arrays, torch tensors, DLPack
// capsules), and of its results to views of memory. All functions need the GIL.
#pragma once

#include <memory>

#include "core/view.h"
#include "python/arrays/torch_tensors.h"
#include "python/bind.h"

namespace torchdali {

enum class ValueKind { kNumpy, kTorch, kDlpack };

// Makes Python objects of the samples of one value in one batch. The objects are views of its
// memory and keep it alive.
class ValueMaker {
 public:
  ValueMaker(ValueKind kind, std::shared_ptr<const void> owner);
  nb::object operator()(const SampleView& view) const;

 private:
  ValueKind kind_;
  std::shared_ptr<const void> owner_;
  nb::object base_;  // of arrays
};

// The same for a tensor on the GPU. For kNumpy: a CuPy array if CuPy is installed, otherwise the
// tensor.
nb::object make_device_value(ValueKind kind, const nb::object& tensor);

// An array that a function returned.
struct ForeignView : ArrayView {
  nb::object owner;  // keeps the memory alive

  // Element `index` of the first axis.
  ForeignView slice(int64_t index) const;
};

// Raises kType if `object` is not an array or has an element type that DALI does not have,
// kUnsupported if it is elsewhere than on GPU `gpu`; -1: in host memory.
ForeignView to_view(nb::handle object, int gpu = -1);

}  // namespace torchdali
