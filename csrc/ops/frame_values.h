// SPDX-License-Identifier: Apache-2.0
// Arguments with a value for each frame, for operators that take sequences themselves.
#pragma once

#include <algorithm>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"

namespace torchdali {

// Numbers of a float argument for the sample, or (its layout begins with F) for each frame.
// Immutable; any thread.
class FrameValues {
 public:
  FrameValues(const OpSpec& spec, const char* name, size_t width) : name_(name), width_(width) {
    if (const auto found = spec.tensors.find(name); found != spec.tensors.end())
      slot_ = found->second;
    else if (spec.defined(name)) read_constant(spec);
    given_ = spec.has(name);
  }
  bool given() const { return given_; }
  // Whether frames of this sample may have different values.
  bool per_frame(const SampleContext& ctx) const {
    if (slot_ < 0) return false;
    const SampleView& from = ctx.argument_input(slot_);
    return is_per_frame(from) && from.shape[0] > 1;
  }
  // `width` numbers of frame `f` of `frames`.
  void read(const SampleContext& ctx, int64_t frame, int64_t frames, float* values) const {
    if (slot_ < 0) {
      check(constant_.size() == width_, Shape{static_cast<int64_t>(constant_.size())});
      std::copy(constant_.begin(), constant_.end(), values);
      return;
    }
    const SampleView& from = ctx.argument_input(slot_);
    const int64_t count = is_per_frame(from) ? from.shape[0] : 1,
                  width = static_cast<int64_t>(width_);
    check(from.volume() == count * width, from.shape);
    TORCHDALI_CHECK(count == 1 || count == frames, "argument `", name_, "` has values for ", count,
                    " frames, and the sample has ", frames);
    dispatch_dtype(from.dtype, [&]<class T>() {
      const T* numbers = from.as<const T>() + (count == 1 ? 0 : frame * width);
      for (int64_t i = 0; i < width; ++i) values[i] = argument_cast<float>(numbers[i], name_);
    });
  }

 private:
  static bool is_per_frame(const SampleView& values) {
    return !values.layout.empty() && values.layout[0] == 'F' && values.shape.ndim() > 0;
  }
  void read_constant(const OpSpec& spec) {
    if (width_ == 1) constant_ = {spec.get<float>(name_)};
    else constant_ = spec.get<std::vector<float>>(name_);
  }
  void check(bool ok, const Shape& shape) const {
    TORCHDALI_CHECK(ok, "argument `", name_, "` takes ", width_, width_ == 1 ? " value" : " values",
                    " a sample or frame, got shape ", shape);
  }
  const char* name_;
  size_t width_;
  std::vector<float> constant_;
  int slot_ = -1;
  bool given_ = false;
};

}  // namespace torchdali
