// SPDX-License-Identifier: Apache-2.0
// The inputs of a user's function as Python objects, and the check that it does not modify them.
#pragma once

#include <memory>
#include <vector>

#include "core/batch_context.h"
#include "python/arrays/torch_tensors.h"
#include "python/functions/values.h"

namespace torchdali {

// For TORCHDALI_CHECK_FUNCTIONS=1: copies of the inputs, to detect that a function modified them.
class InputCheck {
 public:
  void add(const SampleView& view, int input, int sample);
  // A tensor that may be on the GPU.
  void add(const nb::object& tensor, int input, int sample);
  // Raises kRuntime if an input changed.
  void verify() const;

 private:
  struct Kept {
    SampleView view;
    int input, sample;
    std::vector<char> bytes;
    nb::object unchanged;  // of a tensor: a function that returns whether it is
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
  virtual nb::object make(int input, int sample, const SampleView& view) const = 0;
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
  nb::object make(int input, int /*sample*/, const SampleView& view) const override {
    return makers_[static_cast<size_t>(input)](view);
  }

 private:
  std::vector<ValueMaker> makers_;
};

// Samples on the GPU, for work on the calling thread's current stream.
class DeviceInputs final : public FunctionInputs {
 public:
  DeviceInputs(ValueKind kind, const BatchContext& ctx);
  nb::object make(int input, int sample, const SampleView& /*view*/) const override {
    return make_device_value(kind_, tensor(input, sample));
  }
  void watch(InputCheck& check, int input, int sample, const SampleView& /*view*/) const override {
    check.add(tensor(input, sample), input, sample);
  }

 private:
  const nb::object& tensor(int input, int sample) const {
    return tensors_[static_cast<size_t>(input)][static_cast<size_t>(sample)];
  }
  const ValueKind kind_;
  std::vector<std::vector<nb::object>> tensors_;  // [input][index in the batch]
};

}  // namespace torchdali
