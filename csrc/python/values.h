// SPDX-License-Identifier: Apache-2.0
// Values of a pipeline as a Python function sees them (NumPy arrays, torch tensors, DLPack
// capsules), and what it returns as memory that the engine reads. All with the GIL.
#pragma once

#include "core/batch.h"
#include "core/view.h"
#include "python/bind.h"

namespace torchdali {

enum class ValueKind { kNumpy, kTorch, kDlpack };

// Makes Python objects of the samples of one value in one batch. They are views of its memory, and
// keep it for as long as Python holds on to one of them.
class ValueMaker {
 public:
  ValueMaker(ValueKind kind, std::shared_ptr<const void> owner);
  py::object operator()(const SampleView& view) const;

 private:
  ValueKind kind_;
  std::shared_ptr<const void> owner_;
  py::capsule base_;  // of arrays
};

// The same for a tensor of a batch on the GPU. For kNumpy: an array of CuPy's where that is
// installed, else the tensor.
py::object make_device_value(ValueKind kind, const at::Tensor& tensor);

// An array of Python's. `view` has its shape and type; the elements lie `strides` (in elements)
// apart.
struct ForeignView {
  SampleView view;
  Shape strides;
  bool packed = true;
  // What has to live as long as the memory is read; a new reference.
  py::object owner;

  // Element `index` of the first axis.
  ForeignView slice(int64_t index) const;
};

// Throws kType where `object` is no array, or of elements that DALI has no type for; kUnsupported
// where it lies on another device.
ForeignView to_view(py::handle object, c10::Device device = c10::Device(c10::kCPU));

}  // namespace torchdali
