// SPDX-License-Identifier: Apache-2.0
// What an operator of a library sees: its arguments, its samples. These classes look like the
// engine's own, and call the engine through the C functions of c_api.h.
#pragma once

#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/boundary.h"
#include "core/random.h"

namespace torchdali {

// One use of an operator. Valid while that is constructed.
class TORCHDALI_HIDDEN OpSpec {
 public:
  explicit OpSpec(td_spec* spec) : spec_(spec) {}
  int num_inputs() const { return api::engine->num_inputs(spec_); }
  // Passed by the user, as a constant or a tensor.
  bool has(const std::string& arg) const { return (state(arg) & TD_GIVEN) != 0; }
  bool has_tensor(const std::string& arg) const { return (state(arg) & TD_TENSOR) != 0; }
  // Passed by the user, or has a default.
  bool defined(const std::string& arg) const { return (state(arg) & TD_DEFINED) != 0; }
  // The constant that the user passed, else the default. T: bool, int, int64_t, float, double,
  // std::string, Layout, DType, ImageType, InterpType, or std::vector of int64_t, float, double,
  // std::string.
  template <class T>
  T get(const std::string& arg) const {
    td_value value{};
    api::check(api::engine->constant(spec_, arg.c_str(), static_cast<int32_t>(api::arg_type<T>()),
                                     &value));
    return api::from_c<T>(value, arg);
  }
  td_spec* handle() const { return spec_; }

 private:
  uint32_t state(const std::string& arg) const {
    return api::engine->argument_state(spec_, arg.c_str());
  }
  td_spec* spec_;
};

// One sample of one operator. One thread.
class TORCHDALI_HIDDEN SampleContext {
 public:
  explicit SampleContext(td_sample* sample) : sample_(sample) {}
  int num_inputs() const { return api::engine->count_inputs(sample_); }
  SampleView input(int i) const {
    td_view view;
    api::check(api::engine->input(sample_, i, &view));
    return api::from_c(view);
  }
  // Allocates output i: uninitialized memory for `shape` elements of `dtype`. An output of the
  // pipeline is written directly to the batch that the user receives.
  SampleView output(int i, DType dtype, const Shape& shape, const Layout& layout = {}) {
    SampleView made{.dtype = dtype, .shape = shape, .layout = layout};
    td_view view = api::to_c(made);
    api::check(api::engine->output(sample_, i, &view));
    made.data = view.data;
    return made;
  }
  // Makes output i a view of (a part of) input `of` without copying. `view` must be contiguous.
  void share_input(int i, int of, const SampleView& view) {
    const td_view shared = api::to_c(view);
    api::check(api::engine->share_input(sample_, i, of, &shared));
  }
  // Temporary memory: 64-byte aligned, uninitialized, valid until run() returns.
  template <class T>
  std::span<T> scratch(size_t count) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) throw std::bad_array_new_length();
    void* memory = api::engine->scratch(sample_, bytes);
    if (memory == nullptr) throw api::Failed();
    return {static_cast<T*>(memory), count};
  }
  // The random values of this sample, which depend on the seed and the sample only. Every call
  // starts from the first one.
  RandomStream random() const {
    uint64_t seed = 0, id = 0;
    api::engine->random_key(sample_, &seed, &id);
    return {seed, id};
  }
  int index_in_batch() const { return api::engine->index_in_batch(sample_); }
  int batch_size() const { return api::engine->batch_size(sample_); }
  // Position in the pipeline's stream of samples.
  uint64_t sample_id() const { return api::engine->sample_id(sample_); }
  // The origin of the sample (a path, a key); "" if unknown.
  std::string_view source_name() const {
    size_t size = 0;
    const char* name = api::engine->source_name(sample_, &size);
    return {name, size};
  }
  td_sample* handle() const { return sample_; }

 private:
  td_sample* sample_;
};

// A scalar argument: a constant, or one value per sample.
//   Arg<float> angle_{spec, "angle"};   ...   const float angle = angle_(ctx);
// T: bool, int, int64_t, float, double, DType, ImageType, InterpType.
template <class T>
class TORCHDALI_HIDDEN Arg {
 public:
  Arg(const OpSpec& spec, std::string name) : name_(std::move(name)) {
    given_ = spec.has(name_);
    if (spec.has_tensor(name_)) {
      argument_ = api::engine->argument(spec.handle(), name_.c_str(),
                                        static_cast<int32_t>(api::arg_type<T>()));
      if (argument_ == nullptr) throw api::Failed();
    } else if (spec.defined(name_)) {
      constant_ = spec.get<T>(name_);
    }
  }
  // Whether the user passed it, as a constant or a tensor.
  bool given() const { return given_; }
  bool is_tensor() const { return argument_ != nullptr; }
  // Whether it has a value: from the user or by default.
  bool defined() const { return is_tensor() || constant_.has_value(); }
  T operator()(const SampleContext& ctx) const {
    if (!is_tensor()) {
      TORCHDALI_CHECK(constant_.has_value(), "argument `", name_, "` has no value");
      return *constant_;
    }
    td_value value{};
    api::check(api::engine->value(argument_, ctx.handle(), &value));
    return api::from_c<T>(value, name_);
  }

 private:
  std::string name_;
  std::optional<T> constant_;
  const td_argument* argument_ = nullptr;
  bool given_ = false;
};

// A list argument: a constant list, or one list per sample. T: int64_t, float, double.
template <class T>
class TORCHDALI_HIDDEN ListArg {
 public:
  ListArg(const OpSpec& spec, std::string name) : arg_(spec, std::move(name)) {}
  bool given() const { return arg_.given(); }
  bool is_tensor() const { return arg_.is_tensor(); }
  bool defined() const { return arg_.defined(); }
  std::vector<T> operator()(const SampleContext& ctx) const { return arg_(ctx); }

 private:
  Arg<std::vector<T>> arg_;
};

// The layout of an input, checked against those in the operator's schema.
class TORCHDALI_HIDDEN InputLayout {
 public:
  InputLayout(const OpSpec& spec, int input)
      : layouts_(api::engine->layouts(spec.handle(), input)) {
    if (layouts_ == nullptr) throw api::Failed();
  }
  // The layout of the sample; if that is not known, the first one with its number of dimensions.
  Layout operator()(const SampleView& sample) const {
    td_view view = api::to_c(sample);
    api::check(api::engine->check_layout(layouts_, &view));
    return Layout(std::string_view(view.layout, static_cast<size_t>(view.layout_size)));
  }

 private:
  const td_layouts* layouts_;
};

// The base class of operators: constructed from a `const OpSpec&` when the pipeline is built, where
// all is done that does not depend on data. run() is called for different samples from many threads
// at once, and makes each output once.
class TORCHDALI_HIDDEN Operator {
 public:
  Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  virtual ~Operator() = default;
  virtual void run(SampleContext& ctx) const = 0;
};

}  // namespace torchdali
