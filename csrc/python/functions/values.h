// SPDX-License-Identifier: Apache-2.0
// Conversion of samples to the arguments of a Python function (NumPy arrays, torch tensors, DLPack
// capsules), and of its results to views of memory. All functions need the GIL.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "core/view.h"
#include "python/bind.h"

namespace torchdali {

enum class ValueKind { kNumpy, kTorch, kDlpack };

// Makes Python objects of the samples of one value in one batch. The objects are views of its
// memory and keep it alive.
class ValueMaker {
 public:
  ValueMaker(ValueKind kind, std::shared_ptr<const void> owner);
  py::object operator()(const SampleView& view) const;

 private:
  ValueKind kind_;
  std::shared_ptr<const void> owner_;
  py::capsule base_;  // of arrays
};

// The same for a tensor of a batch on the GPU. For kNumpy: a CuPy array if CuPy is installed,
// otherwise the tensor.
py::object make_device_value(ValueKind kind, const at::Tensor& tensor);

// A Python array. `view` has its shape and type; `strides` are in elements.
struct ForeignView {
  SampleView view;
  Shape strides;
  bool packed = true;
  // Keeps the memory alive.
  py::object owner;

  // Element `index` of the first axis.
  ForeignView slice(int64_t index) const;
};

// Raises kType if `object` is not an array or has an element type that DALI does not have,
// kUnsupported if it is on another device.
ForeignView to_view(py::handle object, c10::Device device = c10::Device(c10::kCPU));

}  // namespace torchdali
