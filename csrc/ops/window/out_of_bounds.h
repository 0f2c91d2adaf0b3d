// SPDX-License-Identifier: Apache-2.0
// What happens if a window extends outside its sample: the arguments `out_of_bounds_policy` and
// `fill_values`, shared by crop, slice and crop_mirror_normalize.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ops/window/crop_window.h"

namespace torchdali {

inline SchemaBuilder& add_out_of_bounds_args(SchemaBuilder& schema) {
  return schema
      .arg("out_of_bounds_policy", "error",
           "What to do if the window extends outside the sample: \"error\", \"pad\" (fill with "
           "`fill_values`) or \"trim_to_shape\" (make the window smaller).")
      .arg("fill_values", std::vector<float>{0.0f},
           "Values outside the sample, with the policy \"pad\": one for all, or one per channel of "
           "the output. Integers are truncated and saturate.");
}

// The argument `out_of_bounds_policy`. Immutable; any thread.
class OutOfBoundsPolicy {
 public:
  explicit OutOfBoundsPolicy(const OpSpec& spec) {
    const auto policy = spec.get<std::string>("out_of_bounds_policy");
    TORCHDALI_CHECK(policy == "error" || policy == "pad" || policy == "trim_to_shape",
                    "`out_of_bounds_policy` is \"", policy,
                    "\", expected \"error\", \"pad\" or \"trim_to_shape\"");
    pad_ = policy == "pad";
    trim_ = policy == "trim_to_shape";
  }

  bool pads() const { return pad_; }
  // Applies the policy to a window in a sample of shape `of`.
  void apply(Window& window, const Shape& of) const {
    if (window.inside(of)) return;
    if (pad_) {
      // More exceed the memory of any machine, and the number of bytes could overflow.
      constexpr double kMaxElements = 0x1p40;
      double elements = 1;
      for (int64_t extent : window.shape) elements *= static_cast<double>(extent);
      TORCHDALI_CHECK(elements <= kMaxElements, "the window of shape ", window.shape,
                      " is too large");
      return;
    }
    if (!trim_) window.check_inside(of);
    for (int i = 0; i < of.ndim(); ++i) {
      const int64_t begin = std::max<int64_t>(window.anchor[i], 0);
      const int64_t end = std::min(window.anchor[i] + window.shape[i], of[i]);
      window.anchor[i] = begin;
      window.shape[i] = std::max<int64_t>(end - begin, 0);
    }
  }

 private:
  bool pad_ = false, trim_ = false;
};

// The policy and the fill values. Immutable; any thread.
class OutOfBounds : public OutOfBoundsPolicy {
 public:
  explicit OutOfBounds(const OpSpec& spec)
      : OutOfBoundsPolicy(spec), fill_(spec.get<std::vector<float>>("fill_values")) {
    if (fill_.empty()) fill_ = {0.0f};
  }

  // Whether there is one value for all channels.
  bool uniform() const { return fill_.size() == 1; }
  // The value of channel `channel` of `channels`; checks the number of values.
  float fill(int64_t channel, int64_t channels) const {
    if (fill_.size() == 1) return fill_[0];
    TORCHDALI_CHECK(static_cast<int64_t>(fill_.size()) == channels, "`fill_values` has ",
                    fill_.size(), " values, but the output has ", channels,
                    channels == 1 ? " channel" : " channels");
    return fill_[channel];
  }

 private:
  std::vector<float> fill_;
};

}  // namespace torchdali
