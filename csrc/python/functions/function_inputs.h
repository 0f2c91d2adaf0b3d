// SPDX-License-Identifier: Apache-2.0
// The inputs of a user's function as Python objects, and the check that it does not modify them.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "core/batch_context.h"
#include "python/functions/values.h"
#include "python/torch_tensors.h"

namespace torchdali {

// For TORCHDALI_CHECK_FUNCTIONS=1: copies of the inputs, to detect that a function modified them.
class InputCheck {
 public:
  void add(const SampleView& view, int input, int sample);
  // A tensor that may be on the GPU. Compares bytes, so that NaN is equal to itself.
  void add(const at::Tensor& tensor, int input, int sample);
  // Raises kRuntime if an input changed.
  void verify() const;

 private:
  struct Kept {
    SampleView view;
    int input, sample;
    std::vector<char> bytes;
    at::Tensor tensor, copy;
  };
  std::vector<Kept> kept_;
};

// Makes the arguments of a function: Python objects of the samples of a batch.
class FunctionInputs {
 public:
  FunctionInputs() = default;
  virtual ~FunctionInputs() = default;
  FunctionInputs(const FunctionInputs&) = delete;
  FunctionInputs& operator=(const FunctionInputs&) = delete;
  virtual py::object make(int input, int sample, const SampleView& view) const = 0;
  virtual void watch(InputCheck& check, int input, int sample, const SampleView& view) const {
    check.add(view, input, sample);
  }
};

class HostInputs final : public FunctionInputs {
 public:
  // `owner(i)` keeps the memory of input i.
  template <class Owner>
  HostInputs(ValueKind kind, int num_inputs, Owner&& owner) {
    makers_.reserve(static_cast<size_t>(num_inputs));
    for (int i = 0; i < num_inputs; ++i) makers_.emplace_back(kind, owner(i));
  }
  py::object make(int input, int /*sample*/, const SampleView& view) const override {
    return makers_[static_cast<size_t>(input)](view);
  }

 private:
  std::vector<ValueMaker> makers_;
};

class DeviceInputs final : public FunctionInputs {
 public:
  DeviceInputs(ValueKind kind, const BatchContext& ctx) : kind_(kind) {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      TORCHDALI_ASSERT(ctx.input_batch(i) != nullptr, "");
      batches_.push_back(ctx.input_batch(i));
    }
  }
  py::object make(int input, int sample, const SampleView& /*view*/) const override {
    return make_device_value(kind_, tensor(input, sample));
  }
  void watch(InputCheck& check, int input, int sample, const SampleView& /*view*/) const override {
    check.add(tensor(input, sample), input, sample);
  }

 private:
  at::Tensor tensor(int input, int sample) const {
    return to_tensor(batches_[static_cast<size_t>(input)]->tensor(sample));
  }
  const ValueKind kind_;
  std::vector<const Batch*> batches_;
};

}  // namespace torchdali
