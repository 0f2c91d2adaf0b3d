// SPDX-License-Identifier: Apache-2.0
// Arg and ListArg: arguments that are constants or have a value for each sample.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/sample_context.h"
#include "core/schema.h"

namespace torchdali {

// Converts a number of an argument input to the type of the argument. Integers drop the fraction.
// Raises kValue for numbers that an integer type cannot represent, NaN included.
template <class T, class S>
T argument_cast(const S& number, const std::string& name) {
  using To = typename std::conditional_t<std::is_enum_v<T>, std::type_identity<int64_t>,
                                         std::type_identity<T>>::type;
  if constexpr (std::is_same_v<To, bool> || std::is_floating_point_v<To>) {
    return static_cast<T>(number);
  } else {
    bool fits;
    if constexpr (is_floating_type<S>) {
      static_assert(std::is_signed_v<To>);
      constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;
      constexpr double kEnd = 2.0 * kHalf;  // exact
      const auto x = static_cast<double>(number);
      fits = (x >= -kEnd || x > -kEnd - 1) && x < kEnd;  // -kEnd - 1 is rounded for int64
    } else {
      fits = std::in_range<To>(+number);
    }
    TORCHDALI_CHECK(fits, "argument `", name, "` takes integers, got ", +number);
    return static_cast<T>(static_cast<To>(number));
  }
}

// A scalar argument: a constant, or one value per sample from an argument input.
//   Arg<float> angle_{spec, "angle"};   ...   const float angle = angle_(ctx);
// T: bool, int, int64_t, float, double, or an enumeration such as InterpType.
template <class T>
class Arg {
 public:
  Arg(const OpSpec& spec, std::string_view name) : name_(name) {
    const auto found = spec.tensors.find(name);
    if (found != spec.tensors.end()) slot_ = found->second;
    else if (spec.defined(name)) constant_ = spec.get<T>(name);
    given_ = spec.has(name);
  }
  // Whether the user passed it, as a constant or a tensor.
  bool given() const { return given_; }
  bool is_tensor() const { return slot_ >= 0; }
  // Whether it has a value: from the user or by default.
  bool defined() const { return is_tensor() || constant_.has_value(); }
  T operator()(const SampleContext& ctx) const {
    if (!is_tensor()) {
      TORCHDALI_ASSERT(constant_.has_value(), "argument `", name_, "` has no value");
      return *constant_;
    }
    return read(ctx.argument_input(slot_));
  }

 private:
  T read(const SampleView& value) const {
    TORCHDALI_CHECK(value.volume() == 1, "argument `", name_,
                    "` takes one value per sample, got a tensor of shape ", value.shape);
    return dispatch_dtype(value.dtype,
                          [&]<class S>() { return argument_cast<T>(*value.as<const S>(), name_); });
  }
  std::string name_;
  std::optional<T> constant_;
  int slot_ = -1;
  bool given_ = false;
};

// A list argument: a constant list, or a 1-D (or 0-D) tensor per sample. T: int64_t, float, double.
//   ListArg<float> mean_{spec, "mean"};   ...
//   const std::span<const float> mean = mean_(ctx, buffer);
template <class T>
class ListArg {
 public:
  ListArg(const OpSpec& spec, std::string_view name) : name_(name) {
    const auto found = spec.tensors.find(name);
    if (found != spec.tensors.end()) slot_ = found->second;
    else if (spec.defined(name)) constant_ = spec.get<std::vector<T>>(name);
    given_ = spec.has(name);
  }
  bool given() const { return given_; }
  bool is_tensor() const { return slot_ >= 0; }
  bool defined() const { return is_tensor() || constant_.has_value(); }
  // The values of this sample. If they come from a tensor, they are stored in `buffer`, which only
  // grows and may be thread_local.
  std::span<const T> operator()(const SampleContext& ctx, std::vector<T>& buffer) const {
    if (!is_tensor()) {
      TORCHDALI_ASSERT(constant_.has_value(), "argument `", name_, "` has no value");
      return *constant_;
    }
    const SampleView& value = ctx.argument_input(slot_);
    TORCHDALI_CHECK(value.shape.ndim() <= 1, "argument `", name_,
                    "` takes a list of values per sample (a 1-D tensor), got a tensor of shape ",
                    value.shape);
    const size_t count = static_cast<size_t>(value.volume());
    if (buffer.size() < count) buffer.resize(count);
    dispatch_dtype(value.dtype, [&]<class S>() {
      const S* from = value.as<const S>();
      for (size_t i = 0; i < count; ++i) buffer[i] = argument_cast<T>(from[i], name_);
    });
    return {buffer.data(), count};
  }

 private:
  std::string name_;
  std::optional<std::vector<T>> constant_;
  int slot_ = -1;
  bool given_ = false;
};

}  // namespace torchdali
