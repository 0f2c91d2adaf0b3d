// SPDX-License-Identifier: Apache-2.0
// Operators in libraries of their own: docs/guide/your_operators.md.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/sample.h"

namespace torchdali {

namespace api {

// The functions of an operator. A class, whose attribute makes its variable one of this library.
template <class Op>
struct TORCHDALI_HIDDEN Functions {
  static_assert(std::is_base_of_v<Operator, Op>);
  static td_status create(td_spec* spec, void** made) {
    return guarded(
        [&] { *made = static_cast<Operator*>(std::make_unique<Op>(OpSpec(spec)).release()); });
  }
  static void destroy(void* op) { delete static_cast<Operator*>(op); }
  static td_status run(const void* op, td_sample* sample) {
    return guarded([&] {
      SampleContext ctx(sample);
      static_cast<const Operator*>(op)->run(ctx);
    });
  }
  static constexpr td_operator kTable{.create = &create, .destroy = &destroy, .run = &run};
};

}  // namespace api

// Describes an operator: see TORCHDALI_OPERATOR.
class TORCHDALI_HIDDEN SchemaBuilder {
 public:
  explicit SchemaBuilder(std::string name) : name_(std::move(name)) {}
  SchemaBuilder& doc(std::string text) {
    doc_ = std::move(text);
    return *this;
  }
  SchemaBuilder& input(std::string name, std::string doc, std::vector<std::string> layouts = {}) {
    inputs_.push_back({std::move(name), std::move(doc), std::move(layouts), 0});
    return *this;
  }
  SchemaBuilder& optional_input(std::string name, std::string doc,
                                std::vector<std::string> layouts = {}) {
    inputs_.push_back({std::move(name), std::move(doc), std::move(layouts), TD_OPTIONAL});
    return *this;
  }
  // Input `index` is on the host, also on the GPU.
  SchemaBuilder& host_input(int index) {
    inputs_.at(static_cast<size_t>(index)).flags |= TD_HOST;
    return *this;
  }
  SchemaBuilder& output(std::string name, std::string doc) {
    outputs_.push_back({std::move(name), std::move(doc), {}, 0});
    return *this;
  }
  // An argument with a default, from whose C++ type its own follows; a list is written as
  // std::vector<float>{...} or std::vector<int64_t>{...}.
  template <class T>
  SchemaBuilder& arg(std::string name, T value, std::string doc, Arity arity = Arity::kConstant) {
    using Stored = std::conditional_t<std::is_same_v<T, const char*>, std::string, T>;
    constexpr ArgType kType = api::arg_type<Stored>();
    Argument made{std::move(name), std::move(doc), kType,
                  TD_HAS_DEFAULT | static_cast<uint32_t>(arity)};
    if constexpr (kType == ArgType::kFloat) made.number = value;
    else if constexpr (kType == ArgType::kLayout) made.text = std::string(value.str());
    else if constexpr (kType == ArgType::kString) made.text = std::move(value);
    else if constexpr (kType == ArgType::kIntVec) made.integers = std::move(value);
    else if constexpr (kType == ArgType::kFloatVec) made.numbers.assign(value.begin(), value.end());
    else if constexpr (kType == ArgType::kStringVec) made.texts = std::move(value);
    else made.integer = static_cast<int64_t>(value);
    arguments_.push_back(std::move(made));
    return *this;
  }
  // An argument without a default: it matters whether the user passes it.
  SchemaBuilder& optional_arg(std::string name, ArgType type, std::string doc,
                              Arity arity = Arity::kConstant) {
    arguments_.push_back({std::move(name), std::move(doc), type, static_cast<uint32_t>(arity)});
    return *this;
  }
  SchemaBuilder& required_arg(std::string name, ArgType type, std::string doc,
                              Arity arity = Arity::kConstant) {
    arguments_.push_back(
        {std::move(name), std::move(doc), type, TD_REQUIRED | static_cast<uint32_t>(arity)});
    return *this;
  }
  // Draws random values: `seed` matters.
  SchemaBuilder& random() { return set(TD_RANDOM); }
  // Is never left out, and never merged with an equal operator.
  SchemaBuilder& side_effects() { return set(TD_SIDE_EFFECTS); }
  // Takes sequences (layouts that begin with F). If an argument has a value for each frame, the
  // engine runs the operator frame by frame.
  SchemaBuilder& sequences() { return set(TD_SEQUENCES); }
  // Takes single frames: the engine runs it for each frame of a sequence.
  SchemaBuilder& each_frame() { return set(TD_EACH_FRAME); }
  // Takes volumes (layouts with D).
  SchemaBuilder& volumes() { return set(TD_VOLUMES); }
  SchemaBuilder& image_role(ImageRole role) { return set(static_cast<uint32_t>(role)); }
  template <class Op>
  SchemaBuilder& cpu() {
    cpu_ = &api::Functions<Op>::kTable;
    return *this;
  }
  // A class derived from gpu::KernelOperator (gpu.h).
  template <class Op>
  SchemaBuilder& gpu() {
    gpu_ = &api::Functions<Op>::kTable;
    kernel_ = &Op::c_kernel;
    return *this;
  }

  void describe(td_library_schemas* library) const {
    const td_engine& e = *api::engine;
    td_schema* schema = e.add(library, name_.c_str(), doc_.c_str());
    for (const Slot& i : inputs_) {
      const std::vector<const char*> layouts = pointers(i.layouts);
      e.add_input(schema, i.name.c_str(), i.doc.c_str(), layouts.data(), layouts.size(), i.flags);
    }
    for (const Slot& o : outputs_) e.add_output(schema, o.name.c_str(), o.doc.c_str());
    for (const Argument& a : arguments_) {
      const std::vector<const char*> texts = pointers(a.texts);
      const td_value value{
          .integer = a.integer,
          .number = a.number,
          .text = a.text.c_str(),
          .integers = a.integers.data(),
          .numbers = a.numbers.data(),
          .texts = texts.data(),
          .size = a.text.size() + a.integers.size() + a.numbers.size() + texts.size()};
      e.add_argument(schema, a.name.c_str(), static_cast<int32_t>(a.type), a.doc.c_str(), a.flags,
                     (a.flags & TD_HAS_DEFAULT) != 0 ? &value : nullptr);
    }
    e.set(schema, traits_);
    if (cpu_ != nullptr) e.set_cpu(schema, cpu_);
    if (gpu_ != nullptr) e.set_gpu(schema, gpu_, kernel_());
  }

 private:
  struct Slot {
    std::string name, doc;
    std::vector<std::string> layouts;
    uint32_t flags;
  };
  struct Argument {
    std::string name, doc;
    ArgType type;
    uint32_t flags;
    int64_t integer = 0;
    double number = 0;
    std::string text = {};
    std::vector<int64_t> integers = {};
    std::vector<double> numbers = {};
    std::vector<std::string> texts = {};
  };
  static std::vector<const char*> pointers(const std::vector<std::string>& texts) {
    std::vector<const char*> made;
    for (const std::string& text : texts) made.push_back(text.c_str());
    return made;
  }
  SchemaBuilder& set(uint32_t traits) {
    traits_ |= traits;
    return *this;
  }

  std::string name_, doc_;
  std::vector<Slot> inputs_, outputs_;
  std::vector<Argument> arguments_;
  uint32_t traits_ = 0;
  const td_operator *cpu_ = nullptr, *gpu_ = nullptr;
  const td_kernel* (*kernel_)() = nullptr;
};

namespace api {

TORCHDALI_HIDDEN inline std::vector<SchemaBuilder>& builders() {
  static std::vector<SchemaBuilder> all;  // filled while the library loads
  return all;
}

struct TORCHDALI_HIDDEN Registered {
  Registered(const SchemaBuilder& builder) { builders().push_back(builder); }  // NOLINT
};

TORCHDALI_HIDDEN inline void describe_all(td_library_schemas* library) {
  (void)guarded([library] {
    for (const SchemaBuilder& builder : builders()) builder.describe(library);
  });
}

// Not a static of the exported function, which would be one for all libraries of the process.
TORCHDALI_HIDDEN inline const td_library library{TD_MAJOR, TD_MINOR, &describe_all};

}  // namespace api
}  // namespace torchdali

// TORCHDALI_OPERATOR("solarize").doc(...).input(...).output(...).cpu<Solarize>();
#define TORCHDALI_CONCAT_(a, b) a##b
#define TORCHDALI_CONCAT(a, b) TORCHDALI_CONCAT_(a, b)
#define TORCHDALI_OPERATOR(name)                                                         \
  static const ::torchdali::api::Registered TORCHDALI_CONCAT(registered_, __COUNTER__) = \
      ::torchdali::SchemaBuilder(name)

extern "C"
    __attribute__((visibility("default"),
                   used)) inline const td_library* torchdali_operators(const td_engine* engine) {
  torchdali::api::engine = engine;
  return &torchdali::api::library;
}
